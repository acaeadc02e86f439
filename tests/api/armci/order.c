/* SPDX-License-Identifier: Apache-2.0 */
/* What happens in which order: one rank's blocking operations, fences, flags, notifications, neighbours' memory. */
#include <unistd.h>

#include "support.h"

enum { kTurns = 50, kElements = 3000 };

/* Put, then get or accumulate, of the same bytes: in program order, without a fence. */
static void location_consistency(void) {
  void** base = allocate(kElements * sizeof(long));
  static long out[kElements], in[kElements];
  long one = 1;
  for (int turn = 0; turn < kTurns; ++turn) {
    const int target = (me + turn) % ranks;
    for (int i = 0; i < kElements; ++i) out[i] = turn * 1000 + me + i;
    ARMCI_Barrier();
    CHECK_EQUAL(ARMCI_Put(out, base[target], sizeof out, target), 0);
    CHECK_EQUAL(ARMCI_Acc(ARMCI_ACC_LNG, &one, out, base[target], sizeof out, target), 0);
    CHECK_EQUAL(ARMCI_Get(base[target], in, sizeof in, target), 0);
    for (int i = 0; i < kElements; ++i) CHECK_EQUAL(in[i], 2 * out[i]);
  }
  ARMCI_Barrier();
  release(base);
}

static void wait_for(volatile int* flag, int value) {
  while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != value) {
    if (armci_timer() < 0) break; /* never: keeps the loop from being empty */
  }
}

/* Who sees the flag finds the data, contiguous and strided. */
static void put_with_flag(void) {
  void** base = allocate(kElements * sizeof(long) + 64);
  static long out[kElements];
  int counts[] = {100 * sizeof(long), 10}, packed[] = {100 * sizeof(long)}, spread[] = {200 * sizeof(long)};
  const int target = next_rank();
  int* const theirs = (int*)((char*)base[target] + kElements * sizeof(long));
  int* const mine = (int*)((char*)base[me] + kElements * sizeof(long));
  for (int turn = 1; turn <= kTurns; ++turn) {
    for (int i = 0; i < kElements; ++i) out[i] = turn * 10000 + me;
    CHECK_EQUAL(ARMCI_Put_flag(out, base[target], sizeof out, theirs, turn, target), 0);
    wait_for(mine, turn);
    for (int i = 0; i < kElements; ++i) CHECK_EQUAL(((long*)base[me])[i], turn * 10000 + previous_rank());
    ARMCI_Barrier();
    for (int i = 0; i < kElements; ++i) out[i] = -turn;
    CHECK_EQUAL(ARMCI_PutS_flag(out, packed, base[target], spread, counts, 1, theirs, -turn, target), 0);
    wait_for(mine, -turn);
    for (int row = 0; row < 10; ++row) CHECK_EQUAL(((long*)base[me])[row * 200 + 99], -turn);
    CHECK_EQUAL(((long*)base[me])[100], turn * 10000 + previous_rank());
    ARMCI_Barrier();
    CHECK_EQUAL(ARMCI_PutS_flag_dir(out, packed, base[target], spread, counts, 1, theirs, turn + 1000, target), 0);
    wait_for(mine, turn + 1000);
    ARMCI_Barrier();
  }
  release(base);
}

/* A ring: each waits for the one before it, and finds all that it put. */
static void notify(void) {
  void** base = allocate(kElements * sizeof(long));
  static long out[kElements];
  for (int turn = 1; turn <= kTurns; ++turn) {
    int awaited = 0;
    for (int i = 0; i < kElements; ++i) out[i] = turn + i;
    for (int part = 0; part < 3; ++part) {
      const int bytes = sizeof out / 3;
      CHECK_EQUAL(ARMCI_Put((char*)out + part * bytes, (char*)base[next_rank()] + part * bytes, bytes, next_rank()), 0);
    }
    long one = 1;
    CHECK_EQUAL(ARMCI_Acc(ARMCI_ACC_LNG, &one, out, base[next_rank()], sizeof out, next_rank()), 0);
    CHECK_EQUAL(armci_notify(next_rank()), turn);
    CHECK_EQUAL(armci_notify_wait(previous_rank(), &awaited), turn);
    CHECK_EQUAL(awaited, turn);
    for (int i = 0; i < kElements; ++i) CHECK_EQUAL(((long*)base[me])[i], 2 * (turn + i));
    ARMCI_Barrier();
  }
  for (int i = 0; i < 10; ++i) CHECK(armci_notify(next_rank()) > 0); /* several at once are counted */
  for (int i = 0; i < 10; ++i) CHECK(armci_notify_wait(previous_rank(), NULL) >= kTurns + i + 1);
  release(base);
}

static void fences(void) {
  void** base = allocate((long)ranks * sizeof(long));
  for (int turn = 1; turn <= kTurns; ++turn) {
    for (int target = 0; target < ranks; ++target) {
      CHECK_EQUAL(ARMCI_PutValueLong(turn, (long*)base[target] + me, target), 0);
      if (turn % 3 == 0) ARMCI_Fence(target);
    }
    ARMCI_Group world;
    ARMCI_Group_get_world(&world);
    if (turn % 3 == 1) ARMCI_AllFence();
    if (turn % 3 == 2) ARMCI_GroupFence(&world);
    MPI_Barrier(MPI_COMM_WORLD); /* a plain one: the fence alone has to have done it */
    for (int origin = 0; origin < ranks; ++origin) CHECK_EQUAL(((long*)base[me])[origin], turn);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  release(base);
}

/* Ranks of a node load and store in each other's parts. */
static void neighbours(void) {
  void** base = allocate(sizeof(long));
  for (int rank = 0; rank < ranks; ++rank) {
    CHECK_EQUAL(ARMCI_Same_node(rank), armci_domain_same_id(ARMCI_DOMAIN_SMP, rank));
    CHECK_EQUAL(ARMCI_Same_node(rank), armci_domain_id(ARMCI_DOMAIN_SMP, rank) == armci_domain_my_id(ARMCI_DOMAIN_SMP));
    CHECK_EQUAL(armci_sameclusnode(rank), ARMCI_Same_node(rank));
  }
  ARMCI_Access_begin(base[me]);
  *(long*)base[me] = 100 + me;
  ARMCI_Access_end(base[me]);
  ARMCI_Barrier();
  for (int rank = 0; rank < ranks; ++rank) {
    if (ARMCI_Same_node(rank)) CHECK_EQUAL(*(long*)base[rank], 100 + rank);
  }
  ARMCI_Barrier();
  release(base);
}

/* A barrier is a barrier: each says that it is there just before, and one is late. */
static void barriers(void) {
  void** base = allocate((long)ranks * sizeof(int));
  for (int turn = 1; turn <= 2 * ranks; ++turn) {
    if (turn % ranks == me) usleep(3000);
    for (int rank = 0; rank < ranks; ++rank) CHECK_EQUAL(ARMCI_PutValueInt(turn, (int*)base[rank] + me, rank), 0);
    if (turn % 2) ARMCI_Barrier();
    if (turn % 2 == 0) ARMCI_AllFence(), armci_msg_barrier();
    for (int rank = 0; rank < ranks; ++rank) CHECK_EQUAL(((int*)base[me])[rank], turn);
    armci_msg_barrier();
  }
  release(base);
}

/* The same while a rank waits for a lock or a notification: who has it first takes a large message of the waiter's. */
static void mpi_goes_on_for_one(void) {
  enum { kLarge = 4 << 20 };
  char* const text = malloc(kLarge);
  CHECK_EQUAL(ARMCI_Create_mutexes(1), 0);
  for (int way = 0; way < 2 && ranks > 1; ++way) {
    MPI_Request sent = MPI_REQUEST_NULL;
    memset(text, me + 1, kLarge);
    if (me == 1 && way == 0) ARMCI_Lock(0, 0);
    ARMCI_Barrier();
    if (me == 0) {
      MPI_Isend(text, kLarge, MPI_CHAR, 1, 3, MPI_COMM_WORLD, &sent);
      if (way == 0) ARMCI_Lock(0, 0), ARMCI_Unlock(0, 0);
      if (way == 1) CHECK(armci_notify_wait(1, NULL) > 0);
      MPI_Wait(&sent, MPI_STATUS_IGNORE);
    }
    if (me == 1) {
      usleep(20000); /* rank 0 sleeps by now */
      MPI_Recv(text, kLarge, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK_EQUAL(text[kLarge - 1], 1);
      if (way == 0) ARMCI_Unlock(0, 0);
      if (way == 1) CHECK(armci_notify(0) > 0);
    }
    ARMCI_Barrier();
  }
  CHECK_EQUAL(ARMCI_Destroy_mutexes(), 0);
  free(text);
}

/* MPI goes on while ranks wait for each other: the sender is there before its large message has left. */
static void mpi_goes_on(void) {
  enum { kLarge = 4 << 20 };
  char* const text = malloc(kLarge);
  void** const parts = malloc((size_t)ranks * sizeof *parts);
  ARMCI_Group world;
  ARMCI_Group_get_world(&world);
  CHECK_EQUAL(ARMCI_Create_mutexes(1), 0);
  for (int way = 0; way < 6; ++way) {
    MPI_Request sent = MPI_REQUEST_NULL;
    memset(text, me + 1, kLarge);
    if (me == 0 && ranks > 1) MPI_Isend(text, kLarge, MPI_CHAR, 1, 3, MPI_COMM_WORLD, &sent);
    if (me == 1) {
      usleep(20000); /* rank 0 sleeps in the barrier by now */
      MPI_Recv(text, kLarge, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK_EQUAL(text[kLarge - 1], 1);
    }
    if (way == 0) ARMCI_Barrier();
    if (way == 1) armci_msg_barrier();
    if (way == 2) armci_msg_group_barrier(&world);
    if (way == 3) CHECK_EQUAL(ARMCI_Malloc(parts, 100), 0);
    if (way == 4) CHECK_EQUAL(ARMCI_Free(parts[me]), 0);
    if (way == 5) CHECK_EQUAL(ARMCI_Destroy_mutexes(), 0);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
  }
  free(parts);
  free(text);
}

static void domains(void) {
  int counted = 0;
  for (int node = 0; node < armci_domain_count(ARMCI_DOMAIN_SMP); ++node) {
    for (int i = 0; i < armci_domain_nprocs(ARMCI_DOMAIN_SMP, node); ++i, ++counted) {
      CHECK_EQUAL(armci_domain_id(ARMCI_DOMAIN_SMP, armci_domain_glob_proc_id(ARMCI_DOMAIN_SMP, node, i)), node);
    }
  }
  CHECK_EQUAL(counted, ranks);
  CHECK_EQUAL(armci_domain_nprocs(ARMCI_DOMAIN_SMP, -1),
              armci_domain_nprocs(ARMCI_DOMAIN_SMP, armci_domain_my_id(ARMCI_DOMAIN_SMP)));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  location_consistency();
  put_with_flag();
  notify();
  fences();
  barriers();
  mpi_goes_on();
  mpi_goes_on_for_one();
  neighbours();
  domains();
  finish();
  return 0;
}
