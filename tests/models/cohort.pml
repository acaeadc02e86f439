/* cohort for three ranks on two nodes: src/sync/locks/cohort.cpp over node_queue.cpp and chain.cpp. Ranks 0 and 1 share a
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

#include "chain.pml"

/* Which node a rank sits on: the pair at the home (0) or away from it (1). */
#ifndef PAIR
#define PAIR 1
#endif
#define NODE_OF_RANK(r) ((r) < 2 -> PAIR : 1 - PAIR)

#define BARE 1
#define RECORD(r, k) (2 + 2 * (r) + (k))           /* two records per rank; handles as in lock_memory.hpp */
#define RECORDS 8
#define Q_RELEASED 1
#define Q_GAVE_UP 4
#define Q_WAITING 3
#define Q_BARE 8
#define Q_WHOLE 9
#if MUTANT == 5
/* planted: who gives the node's place away tells the next rank that it comes with the queue */
#define Q_WORD Q_WHOLE
#else
#define Q_WORD Q_BARE
#endif

byte q_tail[2];             /* NodeQueueWords::tail, by node */
byte q_place[2];            /* NodeQueue::places_, the holder's */
byte q_next[RECORDS + 2];   /* Record::next, and, at the node's number, the bare holder's */
byte q_state[RECORDS];      /* Record::state */
bool in_use[RECORDS];       /* Record::in_use */
byte passes[2];
byte inside;
#define Q_NEXT(n, place) q_next[(place == BARE -> RECORDS + (n) : (place))]

inline retire(t_n, t_place) {   /* NodeQueue::retire */
  if
  :: t_place == BARE -> Q_NEXT(t_n, BARE) = 0
  :: else -> in_use[t_place] = false
  fi
}

/* NodeQueue::pass */
inline pass(p_n, p_word, p_link, p_gone, p_passed) {
  p_passed = false;
  do
  :: p_link = Q_NEXT(p_n, q_place[p_n]);                                  /* next_of(place).load()  */
     if
     :: p_link == 0 -> break
     :: else ->
        p_gone = q_place[p_n];
        if
        :: p_gone == BARE -> retire(p_n, p_gone)
        :: else
        fi;
        atomic {                                                    /* hand: state.exchange(word) */
          p_passed = (q_state[p_link] != Q_GAVE_UP);
          q_state[p_link] = p_word
        };
        if
        :: p_gone != BARE -> retire(p_n, p_gone)
        :: else
        fi;
        if
        :: p_passed -> break
        :: else -> q_place[p_n] = p_link
        fi
     fi
  od;
  p_link = 0; p_gone = 0
}

/* NodeQueue::release */
inline q_release(q_n, q_link, q_gone, q_passed) {
  do
  :: pass(q_n, Q_WORD, q_link, q_gone, q_passed);
     if
     :: q_passed -> break
     :: else ->
        q_gone = q_place[q_n];
        atomic {                                                    /* free_if_last */
          if
          :: q_tail[q_n] == q_gone -> q_tail[q_n] = 0; q_link = 1
          :: else -> q_link = 0
          fi
        };
        if
        :: q_link == 1 ->
           if
           :: q_gone != BARE -> in_use[q_gone] = false
           :: else
           fi;
           break
        :: else ->
#if MUTANT == 4
           /* planted: it takes for granted that the link comes soon, and leaves without a mark */
           break
#else
           atomic {                                                 /* next.compare_exchange(0, kReleased) */
             if
             :: Q_NEXT(q_n, q_gone) == 0 -> Q_NEXT(q_n, q_gone) = Q_RELEASED; break
             :: else
             fi
           }
#endif
        fi
     fi
  od;
  q_link = 0; q_gone = 0
}

proctype rank(byte r; byte rounds; bool may_give_up) {
  byte round, place, old, behind, link, gone, mine, left, n, m;
  bool give, got, passed, holds, whole, waits;
  n = NODE_OF_RANK(r);
  m = n;
  do
  :: round < rounds ->
     holds = false; whole = false; got = false;
     if
     :: atomic { q_tail[n] == 0 -> q_tail[n] = BARE };              /* take_if_free */
        q_place[n] = BARE; holds = true
     :: atomic { left != 0 && q_state[left] == Q_GAVE_UP ->         /* enter: NodeQueue::take_up */
          mine = left; left = 0; q_state[mine] = Q_WAITING; waits = true }
     :: atomic { q_tail[n] != 0 && (left == 0 || q_state[left] != Q_GAVE_UP) ->   /* enter: take_record, tail.exchange */
          if
          :: !in_use[RECORD(r, 0)] -> mine = RECORD(r, 0)
          :: else -> mine = RECORD(r, 1); assert(!in_use[mine])
          fi;
          left = 0;                                                 /* what it left was skipped */
          in_use[mine] = true; q_next[mine] = 0; q_state[mine] = Q_WAITING;
          gone = q_tail[n]; q_tail[n] = mine };
        atomic { link = Q_NEXT(n, gone); Q_NEXT(n, gone) = mine };  /* enter: next.exchange */
        if
        :: link == Q_RELEASED -> retire(n, gone); q_place[n] = mine; holds = true
        :: else -> waits = true
        fi
     fi;
     if
     :: waits && q_state[mine] >= Q_BARE ->                         /* wait */
        q_place[n] = mine; holds = true; whole = (q_state[mine] == Q_WHOLE)
     :: atomic { waits && may_give_up && q_state[mine] == Q_WAITING ->
          q_state[mine] = Q_GAVE_UP; left = mine }                  /* leave */
     :: !waits
     fi;
     waits = false;
     link = 0; gone = 0; mine = 0;
     if
     :: holds && whole -> got = true                                /* Cohort::advance: passed with the node's place */
     :: holds && !whole ->
        chain_acquire(m, place, old, give, behind, n, r, (may_give_up), got);
        if
        :: got
        :: else -> q_release(n, link, gone, passed)                 /* Cohort::give_up */
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
        :: else -> passes[n] = 1; pass(n, Q_WHOLE, link, gone, passed)
        fi;
        if
        :: passed
        :: else ->
           passes[n] = 0;
           chain_release(m, place, give, behind, n, r);
           q_release(n, link, gone, passed)
        fi
     :: else
     fi;
     passed = false; got = false; holds = false; whole = false;
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
