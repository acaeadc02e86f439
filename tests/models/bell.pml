/* Whose turn the server's work is, and who is woken for it: src/progress/internal/doorbell.hpp, and doze, Driver and ring in server.cpp.

   One node: its server, two threads of the server's process that wait until all work is done (and may give up before), a
   rank of another process that leaves work and rings, and messages of other nodes. Sleeps have no end by time here, so
   a wake-up that is lost stops the model.

   Checked: one thread at a time uses the worker (assert); nothing is left undone when nobody can move any more. */

#ifndef MUTANT
#define MUTANT 0
#endif

mtype = { SERVERS, FREE, TAKEN, WANTED };          /* Doorbell::Turn */

mtype turn = SERVERS;
bit asleep;                                        /* Doorbell::asleep_ */
byte work;                                         /* left in node memory for Server::look */
byte messages;                                     /* arrived, and not taken yet: readable as long as there are any */
bit signal;                                        /* Worker::wake */
bit shown = 1;                                     /* Worker::lend: 0, Worker::take_back: 1 */
byte inside;                                       /* threads that use the worker */
#define READABLE (messages > 0 || signal)
#define DONE (work == 0 && messages == 0)

inline enter() { inside++; assert(inside == 1) }
inline leave() { inside-- }

inline look(k_any) {
  if
  :: atomic { work > 0 -> work = 0; k_any = true }
  :: atomic { work == 0 }
  fi
}

/* Server::move: a message, then the look. */
inline move(m_any) {
  enter();
  m_any = false;
  if
  :: atomic { messages > 0 -> messages--; m_any = true }
  :: atomic { messages == 0 }
  fi;
  look(m_any);
  leave()
}

/* Worker::arm: takes the signal, and answers false where there is anything to do. */
inline arm(a_armed) {
  enter();
  if
  :: atomic { signal -> signal = 0; a_armed = false }
  :: atomic { !signal -> a_armed = (messages == 0) }
  fi;
  leave()
}

/* Server::run and Server::doze, Doorbell::offer_turn, Doorbell::reclaim_turn. */
active proctype server() {
  bool any, armed;
  do
  :: move(any);
     if
     :: any
     :: else ->
#if MUTANT != 1
        asleep = 1;                                /* planted 1: not marked before the last look */
#endif
        look(any);
        armed = false;
        if
        :: any
        :: else -> arm(armed)
        fi;
        if
        :: armed ->
           asleep = 1;
           turn = FREE;
end_doze:  (shown && READABLE);
           do
           :: atomic { turn == FREE -> turn = SERVERS; break }
           :: atomic { turn == TAKEN -> turn = WANTED }
           :: turn == WANTED ->
end_wanted:   (turn != WANTED)
           od
        :: else
        fi;
        asleep = 0
     fi
  od
}

/* Server::Driver: its construction, Waiting::on_worker, its sleep, its end; or another thread's ring and wait. */
proctype waiter(bool has_work) {
  bool any, armed, mine;
  byte step;
  if
  :: has_work -> work++
  :: else
  fi;
  atomic { mine = (turn == FREE); if :: mine -> turn = TAKEN :: else fi };
  if
  :: mine ->
     shown = 0;
     asleep = 0;
     do
     :: DONE -> break
     :: true -> break                              /* its time is over */
     :: move(any);
        if
        :: any
        :: else ->
           asleep = 1;
           any = false;
           look(any);
           armed = false;
           if
           :: any
           :: else -> arm(armed)
           fi;
           if
           :: armed ->
end_sleep:    READABLE
           :: else
           fi;
           asleep = 0
        fi
     od;
#if MUTANT != 2
     asleep = 1;                                   /* planted 2: gives back without the mark */
#endif
     armed = false;
     step = 0;
     do
     :: !armed && step < 2 ->
        step++;
        move(any);
        if
        :: any
        :: else -> arm(armed)
        fi
     :: else -> break
     od;
#if MUTANT != 3
     shown = 1;                                    /* planted 3: the server's sleep sees nothing any more */
#endif
     turn = FREE;                                  /* Doorbell::give_back, and the wake of who wants it */
#if MUTANT != 4
     if
     :: !armed -> signal = 1                       /* planted 4: what is left to do is nobody's */
     :: else
     fi
#else
     skip
#endif
  :: else ->
     if
     :: has_work && asleep -> signal = 1           /* Server::ring */
     :: else
     fi;
end_gate: DONE
  fi
}

/* Client::ring: the message is without content. */
proctype other_process() {
  work++;
  if
  :: asleep -> messages++
  :: else
  fi
}

proctype other_node() { messages++ }

init {
  atomic { run waiter(true); run waiter(false); run other_process(); run other_node() };
end_all:
  timeout -> assert(DONE)
}
