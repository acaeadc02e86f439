/* mcs for three ranks on two nodes: src/locks/kinds/mcs.cpp over mcs_queue.cpp. Ranks 0 and 1 sit at the home, rank 2 elsewhere.

   Checked: at most one rank is inside (assert); nobody waits for ever, so no hand-off is lost and no place that was given
   up stops the queue (a rank that does not finish is an invalid end state). */

#ifndef MUTANT
#define MUTANT 0
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#define MEMBERS 3
#define NODE_OF(member) ((member) / 2)
#define SENDERS 5

#include "mcs_queue.pml"

byte inside;

proctype rank(byte m; bool may_give_up) {
  byte round, place, old, behind;
  bool give, got;
  do
  :: round < ROUNDS ->
     mcs_acquire(m, place, old, give, behind, NODE_OF(m), m, may_give_up, got);
     if
     :: got ->
        inside++;
        assert(inside == 1);                                        /* mutual exclusion */
        inside--;
        mcs_release(m, place, give, behind, NODE_OF(m), m)
     :: else
     fi;
     round++
  :: else -> break
  od
}

init {
  atomic {
    run server(0); run server(1);
    run rank(0, false); run rank(1, true); run rank(2, true)
  }
}
