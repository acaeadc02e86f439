/* cohort for three ranks on two nodes: src/locks/kinds/cohort.cpp over node_queue.cpp and mcs_queue.cpp. Ranks 0 and 1 share a
   node, rank 2 has its own; HOME_OF_PAIR says whether the pair sits at the home.

   Checked as in mcs.pml: mutual exclusion, and that everybody finishes. */

#ifndef MUTANT
#define MUTANT 0
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef GIVER_ROUNDS      /* of rank 1, which may give up, and takes up what it left */
#define GIVER_ROUNDS 1
#endif
#define MEMBERS 2
#define NODE_OF(member) (member)
#define SENDERS 5

#include "mcs_queue.pml"

/* Which node a rank sits on: the pair at the home (0) or away from it (1). */
#ifndef PAIR
#define PAIR 1
#endif
#define NODE_OF_RANK(r) ((r) < 2 -> PAIR : 1 - PAIR)

#define NO_RECORD 1
#define RECORD(r, k) (2 + 2 * (r) + (k))            /* two records per rank; handles as in lock_memory.hpp */
#define RECORDS 8
#define Q_NOBODY 0                                  /* NodeQueue::State; asleep is a matter of waking, not of order */
#define Q_WAITS 1
#define Q_PASSED_QUEUE 3
#define Q_PASSED_LOCK 4
#define Q_GAVE_UP 8                                 /* and the record */
#if MUTANT == 5
/* planted: who gives the node's place away tells the next rank that it comes with the queue */
#define Q_WORD Q_PASSED_LOCK
#else
#define Q_WORD Q_PASSED_QUEUE
#endif

byte q_tail[2];             /* NodeQueueWords::tail, by node */
byte q_place[2];            /* NodeQueue::places_, the holder's */
byte q_link[RECORDS + 2];   /* Record::link, and, at the node's number, NodeQueueWords::link */
bool in_use[RECORDS];       /* Record::in_use */
byte passes[2];
byte inside;
#define Q_LINK(n, place) q_link[(place == NO_RECORD -> RECORDS + (n) : (place))]

inline retire(t_n, t_place) {   /* NodeQueue::retire */
  if
  :: t_place == NO_RECORD -> Q_LINK(t_n, NO_RECORD) = Q_NOBODY
  :: else -> in_use[t_place] = false
  fi
}

/* NodeQueue::pass */
inline pass(p_n, p_word, p_found, p_passed) {
  p_passed = false;
  do
  :: atomic {                                         /* link.compare_exchange(found, word), until found is right */
       p_found = Q_LINK(p_n, q_place[p_n]);
       if
       :: p_found == Q_NOBODY -> break
       :: else -> Q_LINK(p_n, q_place[p_n]) = p_word
       fi
     };
     if
     :: p_found < Q_GAVE_UP -> p_passed = true; break
#if MUTANT == 6
     /* planted: it takes one who gave up for one who waits */
     :: p_found >= Q_GAVE_UP -> p_passed = true; break
#else
     :: else ->
        retire(p_n, q_place[p_n]);
        q_place[p_n] = p_found - Q_GAVE_UP
#endif
     fi
  od;
  p_found = 0
}

/* NodeQueue::release */
inline q_release(q_n, q_found, q_gone, q_passed) {
  do
  :: pass(q_n, Q_WORD, q_found, q_passed);
     if
     :: q_passed -> break
     :: else ->
        q_gone = q_place[q_n];
        atomic {                                                    /* free_if_last */
          if
          :: q_tail[q_n] == q_gone -> q_tail[q_n] = 0; q_found = 1
          :: else -> q_found = 0
          fi
        };
        if
        :: q_found == 1 ->
           if
           :: q_gone != NO_RECORD -> in_use[q_gone] = false
           :: else
           fi;
           break
        :: else ->
#if MUTANT == 4
           /* planted: it takes for granted that the link comes soon, and leaves without a mark */
           break
#else
           atomic {                                          /* link.compare_exchange(kNobody, kPassedQueue) */
             if
             :: Q_LINK(q_n, q_gone) == Q_NOBODY -> Q_LINK(q_n, q_gone) = Q_PASSED_QUEUE; break
             :: else
             fi
           }
#endif
        fi
     fi
  od;
  q_found = 0; q_gone = 0
}

proctype rank(byte r; byte rounds; bool may_give_up) {
  byte round, place, old, behind, found, gone, mine, at, left, left_at, n, m;
  bool give, got, passed, holds, lock_passed, waits;
  n = NODE_OF_RANK(r);
  m = n;
  do
  :: round < rounds ->
     holds = false; lock_passed = false; got = false;
     if
     :: atomic { q_tail[n] == 0 -> q_tail[n] = NO_RECORD };         /* take_if_free */
        q_place[n] = NO_RECORD; holds = true
     :: atomic { left != 0 && Q_LINK(n, left_at) == Q_GAVE_UP + left ->   /* enter: NodeQueue::take_up */
          mine = left; at = left_at; left = 0; left_at = 0; Q_LINK(n, at) = Q_WAITS; waits = true }
     :: atomic { left == 0 || Q_LINK(n, left_at) != Q_GAVE_UP + left ->   /* enter: take_record, tail.exchange */
          if
          :: !in_use[RECORD(r, 0)] -> mine = RECORD(r, 0)
          :: else -> mine = RECORD(r, 1); assert(!in_use[mine])
          fi;
          left = 0; left_at = 0;                                    /* what it left was skipped */
          in_use[mine] = true; q_link[mine] = Q_NOBODY;
          at = q_tail[n]; q_tail[n] = mine };
        if
        :: at == 0 -> q_place[n] = mine; holds = true
        :: else ->
           atomic {                                                 /* enter: link.compare_exchange(kNobody, kWaits) */
             found = Q_LINK(n, at);
             if
             :: found == Q_NOBODY -> Q_LINK(n, at) = Q_WAITS
             :: else
             fi
           };
           if
           :: found == Q_NOBODY -> waits = true
           :: else -> retire(n, at); q_place[n] = mine; holds = true
           fi
        fi
     fi;
     if
     :: waits && (Q_LINK(n, at) == Q_PASSED_QUEUE || Q_LINK(n, at) == Q_PASSED_LOCK) ->   /* wait */
        lock_passed = (Q_LINK(n, at) == Q_PASSED_LOCK);
        retire(n, at);
        q_place[n] = mine; holds = true
     :: atomic { waits && may_give_up && Q_LINK(n, at) == Q_WAITS ->        /* leave */
          Q_LINK(n, at) = Q_GAVE_UP + mine; left = mine; left_at = at }
     :: !waits
     fi;
     waits = false;
     found = 0; gone = 0; mine = 0; at = 0;
     if
     :: holds && lock_passed -> got = true                          /* Cohort::advance: passed with the node's place */
     :: holds && !lock_passed ->
        mcs_acquire(m, place, old, give, behind, n, r, (may_give_up), got);
        if
        :: got
        :: else -> q_release(n, found, gone, passed)                 /* Cohort::give_up */
        fi
     :: else
     fi;
     if
     :: got ->
        inside++;
        assert(inside == 1);                                        /* mutual exclusion */
        inside--;
        passed = false;                                             /* Cohort::release */
        if
        :: passes[n] >= 1 && NEXT(PLACE(m, turn[m])) != NONE        /* others_turn */
        :: else -> passes[n] = 1; pass(n, Q_PASSED_LOCK, found, passed)
        fi;
        if
        :: passed
        :: else ->
           passes[n] = 0;
           mcs_release(m, place, give, behind, n, r);
           q_release(n, found, gone, passed)
        fi
     :: else
     fi;
     passed = false; got = false; holds = false; lock_passed = false;
     round++
  :: else -> break
  od
}

init {
  atomic {
    run server(0); run server(1);
    run rank(0, ROUNDS, false); run rank(1, GIVER_ROUNDS, true); run rank(2, 1, true)
  }
}
