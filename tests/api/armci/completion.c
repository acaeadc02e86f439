/* SPDX-License-Identifier: Apache-2.0 */
/* What is promised when a call has returned: the source is the caller's again, a rank's blocking operations have
 * happened in its order, accumulates from everywhere add up in every form, and ranks of a node share their memory. */
#include "support.h"

enum { kWords = 20000, kTurns = 400 };

static unsigned long state;

static unsigned long random_below(unsigned long limit) {
  state = state * 6364136223846793005UL + 1442695040888963407UL;
  return (state >> 33) % limit;
}

/* Ways to bring `count` longs to another rank; the source is spoilt as soon as each has returned. */
enum { kPut, kAcc, kPutS, kPutV, kNbPut, kNbAcc, kAggregate, kPutFlag, kWays };

static void send(int way, long* source, long* remote, int count, int proc) {
  long scale = 1;
  int rows[] = {8, count}, packed[] = {8};
  void *from[1] = {source}, *to[1] = {remote};
  armci_giov_t piece;
  armci_hdl_t handle;
  piece.src_ptr_array = from;
  piece.dst_ptr_array = to;
  piece.ptr_array_len = 1;
  piece.bytes = 8 * count;
  ARMCI_INIT_HANDLE(&handle);
  switch (way) {
    case kPut: CHECK_EQUAL(ARMCI_Put(source, remote, 8 * count, proc), 0); break;
    case kAcc: CHECK_EQUAL(ARMCI_Acc(ARMCI_ACC_LNG, &scale, source, remote, 8 * count, proc), 0); break;
    case kPutS: CHECK_EQUAL(ARMCI_PutS(source, packed, remote, packed, rows, 1, proc), 0); break;
    case kPutV: CHECK_EQUAL(ARMCI_PutV(&piece, 1, proc), 0); break;
    case kNbPut: CHECK_EQUAL(ARMCI_NbPut(source, remote, 8 * count, proc, &handle), 0); break;
    case kNbAcc: CHECK_EQUAL(ARMCI_NbAcc(ARMCI_ACC_LNG, &scale, source, remote, 8 * count, proc, &handle), 0); break;
    case kAggregate:
      ARMCI_SET_AGGREGATE_HANDLE(&handle);
      for (int half = 0; half < 2; ++half) {
        const int first = half ? count / 2 : 0, words = half ? count - count / 2 : count / 2;
        CHECK_EQUAL(ARMCI_NbPut(source + first, remote + first, 8 * words, proc, &handle), 0);
      }
      break;
    default: CHECK_EQUAL(ARMCI_Put_flag(source, remote, 8 * count, (int*)(remote + count), 1, proc), 0);
  }
  CHECK_EQUAL(ARMCI_Wait(&handle), 0);
}

/* Every way, small and large, to every rank: what arrives is what stood there at the call. */
static void sources_are_free(void) {
  const int sizes[] = {1, 100, kWords};
  static long source[kWords];
  void** base = allocate((kWords + 1) * (long)sizeof(long));
  for (int way = 0; way < kWays; ++way) {
    for (int i = 0; i < 3; ++i) {
      for (int shift = 0; shift < ranks; ++shift) {
        const int target = (me + shift) % ranks, origin = (me + ranks - shift) % ranks;
        memset(base[me], 0, kWords * sizeof(long));
        ARMCI_Barrier();
        for (int word = 0; word < sizes[i]; ++word) source[word] = way * 1000000L + me * 100000L + word;
        send(way, source, base[target], sizes[i], target);
        memset(source, 0xee, sizes[i] * sizeof(long));
        ARMCI_Barrier();
        for (int word = 0; word < sizes[i]; ++word) {
          CHECK_EQUAL(((long*)base[me])[word], way * 1000000L + origin * 100000L + word);
        }
        ARMCI_Barrier();
      }
    }
  }
  release(base);
}

/* A fence is enough for accumulates and strided writes, too; the barrier is MPI's. */
static void fences_cover_every_write(void) {
  void** base = allocate(kWords * (long)sizeof(long));
  static long source[kWords];
  ARMCI_Group world;
  ARMCI_Group_get_world(&world);
  for (int way = 0; way < kAggregate; ++way) {
    for (int fence = 0; fence < 3; ++fence) {
      memset(base[me], 0, kWords * sizeof(long));
      ARMCI_Barrier();
      for (int word = 0; word < kWords; ++word) source[word] = way + 10 * me + word;
      send(way, source, base[next_rank()], kWords, next_rank());
      if (fence == 0) ARMCI_Fence(next_rank());
      if (fence == 1) ARMCI_AllFence();
      if (fence == 2) ARMCI_GroupFence(&world);
      MPI_Barrier(MPI_COMM_WORLD);
      for (int word = 0; word < kWords; ++word) CHECK_EQUAL(((long*)base[me])[word], way + 10 * previous_rank() + word);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  release(base);
}

/* A random walk of blocking operations over a few words of every rank, beside a copy of what must stand there. */
static void program_order(void) {
  enum { kSpan = 3000 };
  void** base = allocate((long)ranks * kSpan * (long)sizeof(long));
  long* const copy = calloc((size_t)ranks * kSpan, sizeof(long));
  static long source[kSpan], found[kSpan];
  state = 77 + (unsigned long)me;
  for (int turn = 0; turn < kTurns; ++turn) {
    const int target = (int)random_below((unsigned long)ranks), way = (int)random_below(kAggregate);
    const int count = 1 + (int)random_below(turn % 4 == 0 ? kSpan : 20), first = (int)random_below(kSpan - count + 1);
    long* const remote = (long*)base[target] + me * kSpan + first;
    long* const here = copy + target * kSpan + first;
    for (int word = 0; word < count; ++word) {
      source[word] = turn * 10000L + word;
      here[word] = way == kAcc ? here[word] + source[word] : source[word];
    }
    if (way < kNbPut) {
      send(way, source, remote, count, target);
    } else { /* an atomic and a value */
      long old;
      CHECK_EQUAL(ARMCI_Put(source, remote, 8 * count, target), 0);
      CHECK_EQUAL(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, remote, 5, target), 0);
      CHECK_EQUAL(old, source[0]);
      CHECK_EQUAL(ARMCI_PutValueLong(source[0] + 9, remote, target), 0);
      here[0] = source[0] + 9;
    }
    if (random_below(2) == 0) continue; /* the next operation meets this one's writes */
    CHECK_EQUAL(ARMCI_Get(remote, found, 8 * count, target), 0);
    for (int word = 0; word < count; ++word) CHECK_EQUAL(found[word], here[word]);
  }
  ARMCI_Barrier();
  for (int target = 0; target < ranks; ++target) {
    CHECK_EQUAL(ARMCI_Get((long*)base[target] + me * kSpan, found, sizeof found, target), 0);
    CHECK_EQUAL(memcmp(found, copy + target * kSpan, sizeof found), 0);
  }
  free(copy);
  ARMCI_Barrier();
  release(base);
}

/* All ranks add to the same places of all ranks, in all forms and types at once. */
static void accumulates_add_up(void) {
  enum { kRows = 8, kRow = 6, kRounds = 30 };
  void** base = allocate(3 * 1024 * 8);
  int rows[] = {kRow * 8, kRows}, packed[] = {kRow * 8}, spread[] = {64};
  double doubles[kRows * kRow];
  long longs[kRows * kRow], three = 3;
  float floats[2 * kRows * kRow], pair[2] = {1, 0}; /* complex */
  double half = 0.5;
  for (int i = 0; i < kRows * kRow; ++i) doubles[i] = 2, longs[i] = i, floats[2 * i] = 1, floats[2 * i + 1] = (float)i;
  ARMCI_Barrier();
  for (int round = 0; round < kRounds; ++round) {
    for (int shift = 0; shift < ranks; ++shift) {
      const int to = (me + shift) % ranks;
      char* const at = base[to];
      void *from[kRows], *there[kRows];
      for (int i = 0; i < kRows; ++i) from[i] = longs + i * kRow, there[i] = at + 8192 + i * 64;
      armci_giov_t pieces;
      pieces.src_ptr_array = from;
      pieces.dst_ptr_array = there;
      pieces.ptr_array_len = kRows;
      pieces.bytes = kRow * 8;
      CHECK_EQUAL(ARMCI_AccS(ARMCI_ACC_DBL, &half, doubles, packed, at, spread, rows, 1, to), 0);
      CHECK_EQUAL(ARMCI_AccV(ARMCI_ACC_LNG, &three, &pieces, 1, to), 0);
      CHECK_EQUAL(ARMCI_NbAccS(ARMCI_ACC_CPL, pair, floats, packed, at + 16384, spread, rows, 1, to, NULL), 0);
    }
    CHECK_EQUAL(ARMCI_WaitAll(), 0);
  }
  ARMCI_Barrier();
  for (int i = 0; i < kRows * kRow; ++i) {
    const int at = i / kRow * 64 + i % kRow * 8;
    CHECK_NEAR(*(double*)((char*)base[me] + at), 1.0 * kRounds * ranks);
    CHECK_EQUAL(*(long*)((char*)base[me] + 8192 + at), 3L * i * kRounds * ranks);
    CHECK_NEAR(*(float*)((char*)base[me] + 16384 + at), (float)(kRounds * ranks));
    CHECK_NEAR(*(float*)((char*)base[me] + 16384 + at + 4), (float)(i * kRounds * ranks));
  }
  ARMCI_Barrier();
  release(base);
}

/* Each stores into its neighbours' parts, and finds there what the owner and others stored and put. */
static void neighbours_share(void) {
  void** base = allocate((long)ranks * 3 * (long)sizeof(long));
  for (int rank = 0; rank < ranks; ++rank) {
    if (ARMCI_Same_node(rank)) ((long*)base[rank])[me] = 100 * rank + me;
    CHECK_EQUAL(ARMCI_PutValueLong(200 * rank + me, (long*)base[rank] + ranks + me, rank), 0);
  }
  ARMCI_Barrier();
  for (int owner = 0; owner < ranks; ++owner) {
    if (!ARMCI_Same_node(owner)) continue;
    for (int rank = 0; rank < ranks; ++rank) {
      if (ARMCI_Same_node(rank)) CHECK_EQUAL(((long*)base[owner])[rank], 100 * owner + rank);
      CHECK_EQUAL(((long*)base[owner])[ranks + rank], 200 * owner + rank);
    }
  }
  /* A direct store of the owner is what others get. */
  ARMCI_Access_begin(base[me]);
  ((long*)base[me])[2 * ranks] = 300 + me;
  ARMCI_Access_end(base[me]);
  armci_msg_barrier();
  for (int rank = 0; rank < ranks; ++rank) {
    CHECK_EQUAL(ARMCI_GetValueLong((long*)base[rank] + 2 * ranks, rank), 300 + rank);
  }
  ARMCI_Barrier();
  release(base);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  sources_are_free();
  fences_cover_every_write();
  program_order();
  accumulates_add_up();
  neighbours_share();
  finish();
  return 0;
}
