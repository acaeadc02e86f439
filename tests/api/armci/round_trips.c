/* SPDX-License-Identifier: Apache-2.0 */
/* What a wire of milliseconds makes of the calls: rank 0 counts their time in round trips, as messages of MPI took them
 * in the same run. For hosts with a long delay between them; every rank on a host of its own, two or more. */
#include <unistd.h>

#include "support.h"

enum { kMany = 100, kBytes = 1 << 16, kRepeats = 9, kInFlight = 10 /* round trips of 100 calls at once */ };

static void** base;
static char* here;
static double round_trip_s;
static int failed;

static double now(void) { return armci_timer(); }

static double best(const double* times, int count) {
  double least = times[0];
  for (int i = 1; i < count; ++i) least = times[i] < least ? times[i] : least;
  return least;
}

/* Between ranks 0 and 1, by MPI: the bare one. The best of several, here and below: what else the machine does only
 * adds. */
static double measure_round_trip(void) {
  enum { kTrips = 40 };
  double times[kTrips] = {0};
  for (int i = 0; i < kTrips && me < 2; ++i) {
    char text[8] = {0};
    const double began = now();
    if (me == 0) armci_msg_snd(1, text, sizeof text, 1);
    armci_msg_rcv(1, text, sizeof text, NULL, 1 - me);
    if (me == 1) armci_msg_snd(1, text, sizeof text, 0);
    times[i] = now() - began;
  }
  return best(times, kTrips);
}

/* ---- what rank 0 does ---- */

static char* of(int rank) { return base[rank]; }

static void gets_one_by_one(void) {
  for (int i = 0; i < kMany; ++i) CHECK_EQUAL(ARMCI_Get(of(1) + 8 * i, here + 8 * i, 8, 1), 0);
}
static void gets_with_handles(void) {
  armci_hdl_t handles[kMany];
  for (int i = 0; i < kMany; ++i) {
    ARMCI_INIT_HANDLE(&handles[i]);
    CHECK_EQUAL(ARMCI_NbGet(of(1) + 8 * i, here + 8 * i, 8, 1, &handles[i]), 0);
  }
  for (int i = kMany - 1; i >= 0; --i) CHECK_EQUAL(ARMCI_Wait(&handles[i]), 0);
}
static void gets_from_all(void) {
  for (int i = 0; i < kMany; ++i) {
    const int from = 1 + i % (ranks - 1);
    CHECK_EQUAL(ARMCI_NbGet(of(from) + 8 * i, here + 8 * i, 8, from, NULL), 0);
  }
  CHECK_EQUAL(ARMCI_WaitAll(), 0);
}
static void aggregate(int put) {
  armci_hdl_t handle;
  ARMCI_INIT_HANDLE(&handle);
  ARMCI_SET_AGGREGATE_HANDLE(&handle);
  for (int i = 0; i < kMany; ++i) {
    if (put) CHECK_EQUAL(ARMCI_NbPut(here + 8 * i, of(1) + 16 * i, 8, 1, &handle), 0);
    if (!put) CHECK_EQUAL(ARMCI_NbGet(of(1) + 16 * i, here + 8 * i, 8, 1, &handle), 0);
  }
  CHECK_EQUAL(ARMCI_Wait(&handle), 0);
}
static void aggregate_gets(void) { aggregate(0); }
static void aggregate_puts(void) { aggregate(1); }
static void fence(void) { ARMCI_Fence(1); }
static void puts_and_fence(void) {
  for (int i = 0; i < kMany; ++i) CHECK_EQUAL(ARMCI_Put(here + 8 * i, of(1) + 16 * i, 8, 1), 0);
  ARMCI_Fence(1);
}
static void puts_to_all_and_fence(void) {
  for (int rank = 1; rank < ranks; ++rank) CHECK_EQUAL(ARMCI_Put(here, of(rank), 8, rank), 0);
  ARMCI_AllFence();
}
static void put_and_get(void) {
  CHECK_EQUAL(ARMCI_Put(here, of(1), 8, 1), 0);
  CHECK_EQUAL(ARMCI_Get(of(1), here, 8, 1), 0);
}
static void strided_and_fence(void) {
  int rows[] = {512, 64}, apart[] = {1024};
  CHECK_EQUAL(ARMCI_PutS(here, apart, of(1), apart, rows, 1, 1), 0);
  ARMCI_Fence(1);
}
static void accumulate_and_fence(void) {
  double half = 0.5;
  CHECK_EQUAL(ARMCI_Acc(ARMCI_ACC_DBL, &half, here, of(1), 4096, 1), 0);
  ARMCI_Fence(1);
}
static void fetch_and_add(void) {
  long old;
  CHECK_EQUAL(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, of(1), 1, 1), 0);
}
static void lock_and_unlock(void) {
  ARMCI_Lock(0, 1);
  ARMCI_Unlock(0, 1);
}

/* ---- what ranks 0 and 1 do together ---- */

static volatile int* flag_of(int rank) { return (int*)(of(rank) + kBytes - 8); }

/* There and back by data with a flag, in one message each way. */
static void flags(int turn) {
  if (me == 1) {
    while (__atomic_load_n(flag_of(1), __ATOMIC_ACQUIRE) != turn) usleep(20);
  }
  CHECK_EQUAL(ARMCI_Put_flag(here, of(1 - me), 4096, (int*)flag_of(1 - me), turn, 1 - me), 0);
  if (me == 0) {
    while (__atomic_load_n(flag_of(0), __ATOMIC_ACQUIRE) != turn) usleep(20);
  }
}

static void notifications(int turn) {
  (void)turn;
  if (me == 1) CHECK(armci_notify_wait(0, NULL) > 0);
  CHECK_EQUAL(ARMCI_Put(here, of(1 - me), 4096, 1 - me), 0);
  CHECK(armci_notify(1 - me) > 0);
  if (me == 0) CHECK(armci_notify_wait(1, NULL) > 0);
}

/* ---- judging ---- */

static void judge(const char* name, const double* times, double least, double most) {
  const double trips = best(times, kRepeats) / round_trip_s;
  const int good = trips >= least && trips <= most;
  printf("%-44s %7.2f round trips (%g to %g)%s\n", name, trips, least, most, good ? "" : "  WRONG");
  failed += !good;
}

static void alone(const char* name, void (*act)(void), double least, double most) {
  double times[kRepeats];
  for (int i = 0; i < kRepeats; ++i) {
    ARMCI_Barrier();
    const double began = now();
    if (me == 0) act();
    times[i] = now() - began;
    ARMCI_Barrier();
  }
  if (me == 0) judge(name, times, least, most);
}

static void together(const char* name, void (*act)(int turn), double least, double most) {
  double times[kRepeats];
  ARMCI_Barrier();
  for (int i = 0; i < kRepeats; ++i) {
    const double began = now();
    if (me < 2) act(i + 1);
    times[i] = now() - began;
  }
  ARMCI_Barrier();
  if (me == 0) judge(name, times, least, most);
}

/* All come at about the same time. */
static void barriers(int dirty, const char* name, double most) {
  double times[kRepeats];
  ARMCI_Barrier();
  for (int i = 0; i < kRepeats; ++i) {
    if (dirty) CHECK_EQUAL(ARMCI_PutValueInt(i, of((me + 1) % ranks), (me + 1) % ranks), 0);
    const double began = now();
    ARMCI_Barrier();
    times[i] = now() - began;
  }
  if (me == 0) judge(name, times, 0, most);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  base = allocate(kBytes);
  here = ARMCI_Malloc_local(kBytes);
  memset(here, 0, kBytes);
  CHECK_EQUAL(ARMCI_Create_mutexes(1), 0);
  round_trip_s = measure_round_trip();
  ARMCI_Barrier(); /* the other ranks sleep here; in MPI they would spin */
  armci_msg_bcast(&round_trip_s, sizeof round_trip_s, 0);
  if (me == 0) printf("round trip of an MPI message: %.0f us\n", 1e6 * round_trip_s);
  alone("100 blocking gets", gets_one_by_one, 85, 200);
  /* TCP lets ten segments go before the first is acknowledged: with that it is two, on a busy machine up to five. One
   * by one it would be a hundred. */
  alone("100 nonblocking gets, a handle each", gets_with_handles, 0.8, kInFlight);
  alone("100 nonblocking gets from all, WaitAll", gets_from_all, 0.8, kInFlight);
  alone("aggregate of 100 gets, Wait", aggregate_gets, 0.8, 1.8);
  alone("aggregate of 100 puts, Wait", aggregate_puts, 0, 0.5);
  alone("100 puts, Fence", puts_and_fence, 0.8, kInFlight);
  alone("a put to each, AllFence", puts_to_all_and_fence, 0.8, 1.8);
  alone("Fence with nothing to wait for", fence, 0, 0.1);
  alone("put, get of the same bytes", put_and_get, 0.8, 1.8);
  alone("strided put of 64 rows, Fence", strided_and_fence, 0.8, 1.8);
  alone("accumulate of 4 KiB, Fence", accumulate_and_fence, 0.8, 1.8);
  alone("fetch-and-add", fetch_and_add, 0.8, 1.8);
  alone("Lock and Unlock of a free mutex", lock_and_unlock, 0.8, 1.8);
  together("data with a flag, there and back", flags, 0.8, 1.8);
  together("put and notify, there and back", notifications, 0.8, 1.8);
  barriers(0, "Barrier with nothing to complete", 1.8);
  barriers(1, "Barrier after a put of each", 3.2);
  CHECK_EQUAL(ARMCI_Destroy_mutexes(), 0);
  CHECK_EQUAL(ARMCI_Free_local(here), 0);
  release(base);
  CHECK_EQUAL(failed, 0);
  finish();
  return 0;
}
