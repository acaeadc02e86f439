/* The queue of members between nodes: src/locks/kinds/mcs_queue.cpp, step by step. Included by mcs.pml and cohort.pml.

   Two nodes; node 0 is the home. Every step between two semicolons that touches shared state is one atomic instruction
   of the code, or one message. Channels are first in, first out per sender and receiver, as endpoints are; nothing is
   ordered between senders.

   MEMBERS, NODE_OF(member) and SENDERS (ranks, then the two servers) come from the including model.
   A place is 1 + 4 * member + turn % 4; 0 is none. */

#define NONE 0
#define RELEASED 255
#define PLACE(member, turn) (1 + 4 * (member) + (turn) % 4)
#define MEMBER(place) (((place) - 1) / 4)
#define TURN(place) (((place) - 1) % 4)
#define NEXT(place) next[2 * MEMBER(place) + TURN(place) % 2]   /* McsQueue::next_of */
#define HOME 0
#define SERVER(node) (SENDERS - 2 + (node))

mtype = { ENQUEUE, LINK, GRANT, FREE };            /* Verb */
mtype = { IDLE, WAITING, ABANDONED, GRANTED };     /* McsQueue::State; asleep is a matter of waking, not of order */

byte tail;                                         /* Places::tail, at home */
byte next[2 * MEMBERS];                            /* McsMember::next */
byte turn[MEMBERS];                                /* McsMember::turn */
mtype state[MEMBERS] = IDLE;                       /* McsMember::state */
chan wire[2 * SENDERS] = [3] of { mtype, byte, byte };   /* by sender and node: LockContext::tell, Server::tell */
chan answers[MEMBERS] = [1] of { byte };                 /* LockContext::answer */
#define WIRE(sender, node) wire[2 * (sender) + (node)]

/* McsQueue::new_place: published by the exchange of the tail, so it is one step with what follows. */
inline new_place(n_m, n_place) {
  turn[n_m] = (turn[n_m] + 1) % 4;
  n_place = PLACE(n_m, turn[n_m]);
  NEXT(n_place) = NONE;
  state[n_m] = WAITING
}

/* McsQueue::pass_on and McsQueue::grant, until the lock is with somebody, or a message is under way. `cur` is the place that is
   released if `give` is false, the one that is granted if it is true. */
inline hand_over(h_cur, h_give, h_behind, h_me, h_sender) {
  do
  :: !h_give ->
     h_behind = NEXT(h_cur);                                            /* pass_on: next.load() */
     if
     :: h_behind == NONE && h_me == HOME ->
        atomic {                                                    /* free_tail: compare_exchange(tail, place, 0) */
          if
          :: tail == h_cur -> tail = NONE; break
          :: else
          fi
        }
     :: else
     fi;
     if
     :: h_behind == NONE ->
        atomic {                                                    /* next.compare_exchange(0, kReleased) */
#if MUTANT == 1
          /* planted: the releaser does not mark its place, so a late link finds nothing to do */
          if
          :: NEXT(h_cur) == NONE -> h_behind = NONE
          :: else -> h_behind = NEXT(h_cur)
          fi
#else
          if
          :: NEXT(h_cur) == NONE -> NEXT(h_cur) = RELEASED
          :: else -> h_behind = NEXT(h_cur)
          fi
#endif
        };
        if
        :: h_behind == NONE && h_me == HOME -> break                    /* the link is under way */
        :: h_behind == NONE && h_me != HOME ->
           WIRE(h_sender, HOME)!FREE, h_cur, NONE;                      /* pass_on: deliver(free) */
           break
        :: else -> h_cur = h_behind; h_give = true
        fi
     :: else -> h_cur = h_behind; h_give = true
     fi
  :: h_give && NODE_OF(MEMBER(h_cur)) != h_me ->
     WIRE(h_sender, NODE_OF(MEMBER(h_cur)))!GRANT, h_cur, NONE;           /* grant: deliver(grant) */
     break
  :: h_give && NODE_OF(MEMBER(h_cur)) == h_me ->
     atomic {                                                       /* on_grant: wake_waiter */
#if MUTANT == 2
       /* planted: whoever gave up is granted to all the same */
       state[MEMBER(h_cur)] = GRANTED; break
#else
       if
       :: state[MEMBER(h_cur)] == ABANDONED -> state[MEMBER(h_cur)] = IDLE; h_give = false
       :: else -> assert(state[MEMBER(h_cur)] == WAITING); state[MEMBER(h_cur)] = GRANTED; break
       fi
#endif
     }
  od
}

/* McsQueue::on_link: one exchange; a place that was released hands over here. */
inline on_link(l_before, l_place, l_old, l_give, l_behind, l_me, l_sender) {
  atomic { l_old = NEXT(l_before); NEXT(l_before) = l_place };
  if
  :: l_old == RELEASED -> l_give = true; hand_over(l_place, l_give, l_behind, l_me, l_sender)
  :: else
  fi
}

/* LockContext::deliver for a link. */
inline deliver_link(d_before, d_place, d_old, d_give, d_behind, d_me, d_sender) {
  if
  :: NODE_OF(MEMBER(d_before)) == d_me -> on_link(d_before, d_place, d_old, d_give, d_behind, d_me, d_sender)
  :: else -> WIRE(d_sender, NODE_OF(MEMBER(d_before)))!LINK, d_before, d_place
  fi
}

/* A node's server: McsQueue::hear and McsQueue::answer. */
proctype server(byte me) {
  byte a, b, old, behind;
  bool give;
  mtype verb;
end:
  if                                                                /* any sender that has something */
  :: WIRE(0, me)?verb, a, b
  :: WIRE(1, me)?verb, a, b
  :: WIRE(2, me)?verb, a, b
  :: WIRE(3, me)?verb, a, b
  :: WIRE(4, me)?verb, a, b
  fi;
     if
     :: verb == LINK -> on_link(a, b, old, give, behind, me, SERVER(me))
     :: verb == GRANT -> give = true; hand_over(a, give, behind, me, SERVER(me))
     :: verb == FREE ->
        atomic {                                                    /* on free: free_tail */
#if MUTANT == 3
          /* planted: the turn is not compared */
          if
          :: tail != NONE && MEMBER(tail) == MEMBER(a) -> tail = NONE
          :: else
          fi
#else
          if
          :: tail == a -> tail = NONE
          :: else
          fi
#endif
        }
     :: verb == ENQUEUE ->
        atomic { old = tail; tail = a };                            /* answer: tail.exchange(me) */
        answers[MEMBER(a)]!old;
        if
        :: old != NONE -> b = old; deliver_link(b, a, old, give, behind, me, SERVER(me))
        :: else
        fi
     fi;
  a = 0; b = 0; old = 0; behind = 0; give = false;
  goto end
}

/* McsQueue::start, advance and give_up for member `m` on node `me`; `got` is the answer. A waiter may give up once its place
   is in the queue. */
inline mcs_acquire(a_m, a_place, a_old, a_give, a_behind, a_me, a_sender, a_may_give_up, a_got) {
  a_got = false;
  if
  :: atomic { state[a_m] == ABANDONED -> state[a_m] = WAITING };        /* take_up */
     a_old = 1
  :: atomic { state[a_m] == IDLE ->
       new_place(a_m, a_place);
       if
       :: a_me == HOME -> a_old = tail; tail = a_place                    /* swap_at_home */
       :: else
       fi };
     if
     :: a_me == HOME && a_old == NONE -> state[a_m] = GRANTED             /* got_it */
     :: a_me == HOME && a_old != NONE -> a_behind = a_old; deliver_link(a_behind, a_place, a_old, a_give, a_behind, a_me, a_sender); a_old = 1
     :: else ->
        WIRE(a_sender, HOME)!ENQUEUE, a_place, NONE;                    /* ask(enqueue) */
        answers[a_m]?a_old;                                             /* wait_for_answer */
        if
        :: a_old == NONE -> state[a_m] = GRANTED
        :: else
        fi
     fi
  fi;
  if
  :: atomic { state[a_m] == GRANTED -> a_got = true }                   /* advance */
  :: atomic { a_may_give_up && state[a_m] == WAITING -> state[a_m] = ABANDONED }   /* give_up */
  fi;
  a_old = 0; a_behind = 0; a_give = false
}

/* McsQueue::release. */
inline mcs_release(r_m, r_place, r_give, r_behind, r_me, r_sender) {
  r_place = PLACE(r_m, turn[r_m]);
  state[r_m] = IDLE;
  r_give = false;
  hand_over(r_place, r_give, r_behind, r_me, r_sender);
  r_place = 0; r_behind = 0; r_give = false
}
