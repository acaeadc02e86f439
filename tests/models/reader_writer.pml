/* reader_writer for three ranks on two nodes: src/locks/kinds/reader_writer.cpp (a node's word and its ranks) and
   reader_writer_home.cpp (what servers do). Ranks 0 and 1 sit on node 0, the home; rank 2 on node 1.

   With JOINS also rank 3 on node 1: HOLDER reads, and leaves when JOINER has been inside; JOINER reads and joins readers
   (Acquisition::joins); WRITER writes; FOURTH reads in turn and may give up. HOME is one of the two nodes.

   Each change of a node's word is one compare-and-swap of the code (ReaderWriter::update), so it is one atomic step. The
   node's queue of writers is node_queue.cpp, which cohort.pml checks; here it is a lock that is granted in any order.

   Checked: a writer is inside alone (assert); everybody finishes (no lost grant, no recall that is never answered). */

#ifndef MUTANT
#define MUTANT 0
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#define NODE_OF(r) ((r) / 2)
#ifndef JOINS
#define JOINS 0
#define HOLDER 9
#define JOINER 9
#define WRITER 9
#endif
#ifndef HOME
#define HOME 0
#endif
#define FOURTH (6 - HOLDER - JOINER - WRITER)
#define RANKS (3 + JOINS)
#define SENDERS (RANKS + 2)
#define SERVER(node) (RANKS + (node))
#define IN_TURN 0                                                            /* ReaderWriter::Wish */
#define JOINS_READERS 1
#define REQUEST_JOINS 2

mtype = { WANT_SHARED, WANT_SOLE, GIVE_BACK, GRANT, GRANT_SHARED, RECALL };  /* Verb */
mtype = { NOTHING, SHARED, SOLE };                                           /* Grant */

/* ReaderWriterView, by node */
byte readers[2], waiting[2], phase[2];
bool writer[2], writer_waits[2], asked_shared[2], asked_sole[2], recalled[2], asked_join[2];
mtype grant[2] = NOTHING;
bool writers_queue[2];

/* ReaderWriter::Home */
byte sharing[2];
bool sole, all_recalled;
byte sole_holder, first_writer, second_writer;   /* nodes + 1; 0: none */
bool wants_read[2], joining[2];

byte readers_inside, writers_inside;
bool joiner_was_inside;
chan wire[2 * SENDERS] = [4] of { mtype, byte, byte };   /* by sender and node; from a rank to its own node's server, too */
#define WIRE(sender, node) wire[2 * (sender) + (node)]
#define TAKES_IN(joins) (!sole && (first_writer == 0 || ((joins) && sharing[0] + sharing[1] > 0)))
#define OPEN(n) (!writer[n] && !writer_waits[n] && grant[n] == SHARED && !recalled[n])

/* ReaderWriterView::admit_waiting */
inline admit_waiting(w_n) {
  readers[w_n] = readers[w_n] + waiting[w_n];
  waiting[w_n] = 0;
  phase[w_n] = 1 - phase[w_n]
}

/* A server tells a home or a node: LockContext::deliver; what is said to the own node travels through its own wire, which is
   first in, first out like the call that the code makes there. */
proctype server(byte me) {
  byte node, i, flag;
  bool after_writer, again;
  mtype verb;
end:
  if
  :: WIRE(0, me)?verb, node, flag
  :: WIRE(1, me)?verb, node, flag
  :: WIRE(2, me)?verb, node, flag
  :: WIRE(3, me)?verb, node, flag
  :: WIRE(4, me)?verb, node, flag
#if JOINS
  :: WIRE(5, me)?verb, node, flag
#endif
  fi;
  again = false; after_writer = false;
  if
  :: verb == GRANT ->                                               /* on_sole */
     atomic {
       asked_sole[me] = false;
       if
       :: writer_waits[me] -> writer_waits[me] = false; writer[me] = true; grant[me] = SOLE
       :: else -> again = (waiting[me] > 0 && !asked_shared[me]); asked_shared[me] = (asked_shared[me] || waiting[me] > 0)
       fi;
       flag = writer[me]
     };
     if
     :: !flag -> WIRE(SERVER(me), HOME)!GIVE_BACK, me, again        /* whoever wanted it gave up */
     :: else
     fi
  :: verb == GRANT_SHARED ->                                        /* on_shared */
     atomic {
       asked_shared[me] = false; asked_join[me] = false;
       if
       :: waiting[me] > 0 -> admit_waiting(me)
       :: else
       fi;
       again = (!flag || readers[me] > 0);                          /* stays */
       if
       :: again -> grant[me] = SHARED
       :: else -> grant[me] = NOTHING
       fi;
       recalled[me] = (flag && again)
     };
     if
     :: !again -> WIRE(SERVER(me), HOME)!GIVE_BACK, me, false
     :: else
     fi
  :: verb == RECALL ->                                              /* on_recall */
     atomic {
       flag = false;
       if
       :: grant[me] != SHARED                                       /* crossed the node's own giving back */
       :: grant[me] == SHARED && readers[me] > 0 -> recalled[me] = true
       :: grant[me] == SHARED && readers[me] == 0 ->
          recalled[me] = false; grant[me] = NOTHING; flag = true;
          again = (waiting[me] > 0 && !asked_shared[me]); asked_shared[me] = (asked_shared[me] || waiting[me] > 0)
       fi
     };
     if
     :: flag -> WIRE(SERVER(me), HOME)!GIVE_BACK, me, again
     :: else
     fi
  :: verb == WANT_SHARED ->                                         /* want_shared */
     if
     :: flag == REQUEST_JOINS && !wants_read[node] ->               /* request_joins */
#if MUTANT != 5
        joining[node] = true                                        /* planted 5: forgets what comes before its request */
#else
        skip
#endif
#if MUTANT == 4
     /* planted: a reader joins a writer */
     :: flag == IN_TURN && !joining[node] && (sole || first_writer != 0) -> wants_read[node] = true
#else
     :: flag != REQUEST_JOINS && !TAKES_IN(flag == JOINS_READERS || joining[node]) ->
        joining[node] = false; wants_read[node] = true
     :: flag == REQUEST_JOINS && wants_read[node] && !TAKES_IN(true)
#endif
     :: else ->                                                     /* share */
        wants_read[node] = false;
        joining[node] = (flag == REQUEST_JOINS && joining[node]);
#if MUTANT == 3
        /* planted: a node's second grant, heard before it gave the first one back, is not counted */
        sharing[node] = 1;
#else
        sharing[node]++;
#endif
        WIRE(SERVER(me), node)!GRANT_SHARED, node, (first_writer != 0)
     fi
  :: verb == WANT_SOLE || verb == GIVE_BACK ->                      /* want_sole, give_back */
     if
     :: verb == WANT_SOLE ->
        if
        :: flag && sharing[node] > 0 -> sharing[node]--             /* take_back */
        :: else
        fi;
        if
        :: first_writer == 0 -> first_writer = node + 1
        :: else -> assert(second_writer == 0); second_writer = node + 1
        fi;
        if
        :: !sole && !all_recalled && sharing[0] + sharing[1] > 0 ->
           all_recalled = true;
           i = 0;
           do
           :: i < 2 ->
              if
              :: sharing[i] > 0 -> WIRE(SERVER(me), i)!RECALL, i, false
              :: else
              fi;
              i++
           :: else -> break
           od
        :: else
        fi
     :: else ->
        after_writer = (sole && sole_holder == node);
        if
        :: after_writer -> sole = false
        :: !after_writer && sharing[node] > 0 -> sharing[node]--    /* take_back */
        :: else
        fi;
        if
        :: flag && joining[node] && !after_writer && TAKES_IN(true) ->
           joining[node] = false; sharing[node]++;
           WIRE(SERVER(me), node)!GRANT_SHARED, node, (first_writer != 0)
        :: flag && !(joining[node] && !after_writer && TAKES_IN(true)) ->
           joining[node] = false; wants_read[node] = true
        :: else
        fi
     fi;
     if                                                             /* grant_next */
     :: sole || sharing[0] + sharing[1] > 0
     :: !sole && sharing[0] + sharing[1] == 0 && (wants_read[0] || wants_read[1]) &&
        (after_writer || first_writer == 0) ->                      /* open_read_phase */
        all_recalled = (first_writer != 0);
        sharing[0] = sharing[0] + wants_read[0]; sharing[1] = sharing[1] + wants_read[1];
        i = 0;
        do
        :: i < 2 ->
           if
           :: wants_read[i] -> wants_read[i] = false; WIRE(SERVER(me), i)!GRANT_SHARED, i, all_recalled
           :: else
           fi;
           i++
        :: else -> break
        od
     :: else ->
        all_recalled = false;
        if
        :: first_writer != 0 ->
           sole = true; sole_holder = first_writer - 1;
           first_writer = second_writer; second_writer = 0;
           WIRE(SERVER(me), sole_holder)!GRANT, sole_holder, false
        :: else
        fi
     fi
  fi;
  node = 0; flag = false; again = false; after_writer = false; i = 0;
  goto end
}

inline give_back_now(g_n, g_r, g_tells, g_again) {
  if
  :: g_tells -> WIRE(g_r, HOME)!GIVE_BACK, g_n, g_again
  :: else
  fi
}

inline read(g_n, g_r, g_in, g_again, g_phase) {
  atomic {                                                          /* start_reader */
    g_in = false; g_again = 0; g_phase = phase[g_n];
    if
    :: OPEN(g_n) || (g_r == JOINER && !writer[g_n] && grant[g_n] == SHARED) -> readers[g_n]++; g_in = true
    :: else ->
       waiting[g_n]++;
       if
       :: grant[g_n] == NOTHING && !asked_shared[g_n] ->
          asked_shared[g_n] = true; g_again = 1 + (g_r == JOINER -> JOINS_READERS : IN_TURN)
       :: else
       fi;
       if
       :: g_r == JOINER && asked_shared[g_n] && !asked_join[g_n] ->
          asked_join[g_n] = true; g_again = (g_again > 0 -> g_again : 1 + REQUEST_JOINS)
       :: else
       fi
    fi
  };
  if
  :: g_again > 0 -> WIRE(g_r, HOME)!WANT_SHARED, g_n, g_again - 1
  :: else
  fi;
  if
  :: g_in
  :: !g_in && phase[g_n] != g_phase -> g_in = true                  /* advance */
  :: atomic { g_r == (JOINS -> FOURTH : 2) && !g_in && phase[g_n] == g_phase -> waiting[g_n]-- }   /* give_up: withdraw_reader */
  fi;
  if
  :: g_in ->
     readers_inside++;
     assert(writers_inside == 0);                                   /* writers exclude */
     if
     :: g_r == HOLDER -> joiner_was_inside
     :: else -> joiner_was_inside = (joiner_was_inside || g_r == JOINER)
     fi;
     readers_inside--;
     atomic {                                                       /* leave_reader */
       readers[g_n]--; g_in = false; g_again = false;
       if
#if MUTANT == 1
       /* planted: the last reader does not look whether the grant was called back */
       :: false
#else
       :: readers[g_n] == 0 && recalled[g_n] ->
          recalled[g_n] = false; grant[g_n] = NOTHING; g_in = true;
          g_again = (waiting[g_n] > 0 && !asked_shared[g_n]);
          asked_shared[g_n] = (asked_shared[g_n] || waiting[g_n] > 0)
#endif
       :: else
       fi
     };
     give_back_now(g_n, g_r, g_in, g_again)
  :: else
  fi
}

inline write(g_n, g_r, g_in, g_again, g_phase) {
  atomic { !writers_queue[g_n] -> writers_queue[g_n] = true };      /* NodeQueue */
  atomic {                                                          /* start_first_writer */
    g_in = false; g_again = false; g_phase = 0;
    writer_waits[g_n] = true;
    if
    :: !asked_sole[g_n] ->
       asked_sole[g_n] = true; g_phase = 1;
       if
       :: grant[g_n] == SHARED && readers[g_n] == 0 ->
          g_in = true; grant[g_n] = NOTHING; recalled[g_n] = false;
          g_again = (waiting[g_n] > 0 && !asked_shared[g_n]);
          asked_shared[g_n] = (asked_shared[g_n] || waiting[g_n] > 0)
       :: else
       fi
    :: else
    fi
  };
  if
  :: g_phase == 1 -> WIRE(g_r, HOME)!WANT_SOLE, g_n, g_in
  :: else
  fi;
  if
  :: g_again -> WIRE(g_r, HOME)!WANT_SHARED, g_n, false
  :: else
  fi;
  g_phase = 0;
  if
  :: writer[g_n] -> g_in = true                                     /* advance */
  :: atomic { g_r != 0 && !JOINS && !writer[g_n] -> writer_waits[g_n] = false; g_in = false;   /* give_up: withdraw_writer */
       if
       :: waiting[g_n] > 0 && OPEN(g_n) -> admit_waiting(g_n)
       :: else
       fi }
  fi;
  if
  :: g_in ->
     writers_inside++;
     assert(writers_inside == 1 && readers_inside == 0);            /* mutual exclusion */
     writers_inside--;
     atomic {                                                       /* leave_writer */
       writer[g_n] = false; grant[g_n] = NOTHING;
       g_again = (waiting[g_n] > 0 && !asked_shared[g_n]);
       asked_shared[g_n] = (asked_shared[g_n] || waiting[g_n] > 0)
     };
#if MUTANT == 2
     /* planted: the readers that waited for this writer are forgotten */
     give_back_now(g_n, g_r, true, false)
#else
     give_back_now(g_n, g_r, true, g_again)
#endif
  :: else
  fi;
  writers_queue[g_n] = false
}

proctype rank(byte r; byte rounds) {
  byte round, seen, again;
  bool in;
  do
  :: round < rounds ->
     if
     :: r != WRITER -> read(NODE_OF(r), r, in, again, seen)
     :: !JOINS || r == WRITER -> write(NODE_OF(r), r, in, again, seen)
     fi;
     in = false; again = false; seen = 0;
     round++
  :: else -> break
  od
}

init {
  atomic {
    run server(0); run server(1);
#if JOINS
    run rank(HOLDER, 1); run rank(JOINER, 1); run rank(WRITER, 1); run rank(FOURTH, ROUNDS)
#else
    run rank(0, ROUNDS); run rank(1, 1); run rank(2, ROUNDS)
#endif
  }
}
