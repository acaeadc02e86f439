/* SPDX-License-Identifier: Apache-2.0 */
/* The ways to start and to end; the first argument names one. Judged by "passed" and a clean exit. */
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

static void learn_ranks(void) {
  me = armci_msg_me();
  ranks = armci_msg_nproc();
}

/* Something that needs every rank and its memory. */
static void work(void) {
  void** base = allocate(64);
  CHECK_EQUAL(ARMCI_PutValueInt(me + 1, base[next_rank()], next_rank()), 0);
  ARMCI_Barrier();
  CHECK_EQUAL(*(int*)base[me], previous_rank() + 1);
  ARMCI_Barrier();
  release(base);
}

static int mpi_ended(void) {
  int ended;
  MPI_Finalized(&ended);
  return ended;
}

/* ARMCI starts MPI and ends it. */
static void alone(void) {
  CHECK_EQUAL(ARMCI_Init(), 0);
  learn_ranks();
  work();
  CHECK_EQUAL(ARMCI_Finalize(), 0);
  CHECK(mpi_ended());
}

static void with_arguments(int* argc, char*** argv) {
  CHECK_EQUAL(ARMCI_Init_args(argc, argv), 0);
  learn_ranks();
  work();
  CHECK_EQUAL(ARMCI_Finalize(), 0);
}

static void threaded(void) {
  int level;
  CHECK_EQUAL(ARMCI_Init_thread(MPI_THREAD_MULTIPLE), 0);
  MPI_Query_thread(&level);
  CHECK_EQUAL(level, MPI_THREAD_MULTIPLE);
  learn_ranks();
  work();
  CHECK_EQUAL(ARMCI_Finalize(), 0);
}

/* ARMCI ends while MPI still has a large message to send: MPI goes on meanwhile. */
static void end_with_message_under_way(void) {
  enum { kLarge = 4 << 20 };
  static char text[kLarge];
  MPI_Request sent = MPI_REQUEST_NULL;
  if (me == 0 && ranks > 1) MPI_Isend(text, kLarge, MPI_CHAR, 1, 3, MPI_COMM_WORLD, &sent);
  if (me == 1) {
    usleep(20000);
    MPI_Recv(text, kLarge, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  CHECK_EQUAL(ARMCI_Finalize(), 0);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
}

/* Counted, and a second time after the end, while the program keeps MPI. */
static void counted(void) {
  MPI_Init(NULL, NULL);
  int descriptors = 0, threads = 0, mappings = 0;
  for (int turn = 0; turn < 5; ++turn) {
    if (turn == 2) { /* MPI has made by now what it makes once */
      descriptors = entries_of("/proc/self/fd");
      threads = entries_of("/proc/self/task");
      mappings = lines_with("/proc/self/maps", "-");
    }
    CHECK_EQUAL(ARMCI_Initialized(), 0);
    CHECK_EQUAL(ARMCI_Init(), 0);
    CHECK_EQUAL(ARMCI_Init(), 0);
    learn_ranks();
    CHECK_EQUAL(ARMCI_Finalize(), 0);
    CHECK_EQUAL(ARMCI_Initialized(), 1);
    work();
    ARMCI_Cleanup(); /* promises nothing, and harms nothing */
    end_with_message_under_way();
    CHECK_EQUAL(lines_with("/proc/self/maps", "memfd:"), 0); /* nothing is mapped any more */
  }
  CHECK_EQUAL(entries_of("/proc/self/fd"), descriptors);
  CHECK_EQUAL(entries_of("/proc/self/task"), threads);
  CHECK(lines_with("/proc/self/maps", "-") <= mappings + 4);
  CHECK(waitpid(-1, NULL, WNOHANG) == -1); /* no process was started */
  CHECK(!mpi_ended());
  CHECK_EQUAL(ARMCI_Finalize(), 0); /* nothing left to end */
  MPI_Finalize();
}

/* The ranks of a communicator of the program's, the other way round. */
static void over_comm(void) {
  MPI_Comm comm;
  int world_rank;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comm);
  CHECK_EQUAL(ARMCI_Init_mpi_comm(comm), 0);
  learn_ranks();
  CHECK_EQUAL(me, ranks - 1 - world_rank);
  work();
  CHECK_EQUAL(ARMCI_Finalize(), 0);
  CHECK_EQUAL(ARMCI_Init_thread_comm(MPI_THREAD_SINGLE, comm), 0);
  work();
  CHECK_EQUAL(ARMCI_Finalize(), 0);
  for (int turn = 0; turn < 3; ++turn) armci_msg_init_comm(comm); /* for every ARMCI_Init that follows */
  MPI_Comm_free(&comm);
  for (int turn = 0; turn < 2; ++turn) {
    CHECK_EQUAL(armci_msg_me(), me);
    armci_msg_barrier();
    CHECK_EQUAL(ARMCI_Init(), 0);
    CHECK_EQUAL(armci_msg_me(), me);
    work();
    CHECK_EQUAL(ARMCI_Finalize(), 0);
  }
  MPI_Finalize();
}

/* A start while ARMCI runs counts only where it asks for what runs. */
static void asked_otherwise(void) {
  int level;
  MPI_Comm same, reversed;
  MPI_Init(NULL, NULL);
  MPI_Query_thread(&level);
  if (level < MPI_THREAD_MULTIPLE) CHECK_EQUAL(ARMCI_Init_thread(MPI_THREAD_MULTIPLE), FAIL3);
  CHECK_EQUAL(ARMCI_Initialized(), 0);
  CHECK_EQUAL(ARMCI_Init_thread(level), 0);
  learn_ranks();
  MPI_Comm_dup(MPI_COMM_WORLD, &same);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &reversed);
  CHECK_EQUAL(ARMCI_Init_mpi_comm(MPI_COMM_NULL), FAIL);
  if (ranks > 1) CHECK_EQUAL(ARMCI_Init_mpi_comm(reversed), FAIL);
  CHECK_EQUAL(ARMCI_Init_mpi_comm(MPI_COMM_SELF), ranks > 1 ? FAIL : 0);
  if (level < MPI_THREAD_MULTIPLE) CHECK_EQUAL(ARMCI_Init_thread_comm(MPI_THREAD_MULTIPLE, same), FAIL3);
  CHECK_EQUAL(ARMCI_Init_thread_comm(level, same), 0);
  if (ranks == 1) CHECK_EQUAL(ARMCI_Finalize(), 0);
  CHECK_EQUAL(ARMCI_Finalize(), 0);
  CHECK_EQUAL(ARMCI_Initialized(), 1);
  CHECK_EQUAL(ARMCI_Finalize(), 0);
  CHECK_EQUAL(ARMCI_Initialized(), 0);
  MPI_Comm_free(&reversed);
  MPI_Comm_free(&same);
  MPI_Finalize();
}

/* MPI_Finalize finds ARMCI running; ARMCI_Finalize comes too late, or never. */
static void forgotten(int late) {
  MPI_Init(NULL, NULL);
  CHECK_EQUAL(ARMCI_Init(), 0);
  learn_ranks();
  work();
  MPI_Finalize();
  CHECK_EQUAL(ARMCI_Initialized(), 0);
  if (late) CHECK_EQUAL(ARMCI_Finalize(), 0);
}

static void by_messages(int* argc, char*** argv) {
  armci_msg_init(argc, argv);
  learn_ranks();
  armci_msg_barrier();
  int sum = 1;
  armci_msg_igop(&sum, 1, "+");
  CHECK_EQUAL(sum, ranks);
  CHECK_EQUAL(ARMCI_Init(), 0);
  work();
  CHECK_EQUAL(ARMCI_Finalize(), 0);
  CHECK(!mpi_ended());
  armci_msg_finalize();
  armci_msg_finalize();
}

/* What an aggregate handle keeps between two nodes is dropped, with a line. */
static void unsent(void) {
  long value = 7;
  armci_hdl_t handle;
  MPI_Init(NULL, NULL);
  CHECK_EQUAL(ARMCI_Init(), 0);
  learn_ranks();
  void** base = allocate(64);
  ARMCI_INIT_HANDLE(&handle);
  ARMCI_SET_AGGREGATE_HANDLE(&handle);
  for (int i = 0; i < 3 && me == 0; ++i) {
    CHECK_EQUAL(ARMCI_NbPut(&value, (long*)base[ranks - 1] + i, sizeof value, ranks - 1, &handle), 0);
  }
  ARMCI_Barrier();
  CHECK_EQUAL(*(long*)base[me], 0);
  CHECK_EQUAL(ARMCI_Finalize(), 0);
  MPI_Finalize();
}

/* Nobody waited for a handle: what it started is complete all the same. */
static void unwaited(void) {
  enum { kSizes = 3, kMost = 3000000 };
  const int sizes[kSizes] = {8, 70000, kMost};
  char* got[kSizes];
  armci_hdl_t handle;
  MPI_Init(NULL, NULL);
  CHECK_EQUAL(ARMCI_Init(), 0);
  learn_ranks();
  void** base = allocate(kMost);
  memset(base[me], 'a' + me, kMost);
  ARMCI_Barrier();
  ARMCI_INIT_HANDLE(&handle);
  for (int i = 0; i < kSizes; ++i) {
    got[i] = calloc(1, (size_t)sizes[i]);
    CHECK_EQUAL(ARMCI_NbGet(base[next_rank()], got[i], sizes[i], next_rank(), &handle), 0);
  }
  CHECK_EQUAL(ARMCI_Finalize(), 0);
  for (int i = 0; i < kSizes; ++i) {
    CHECK_EQUAL(got[i][0], 'a' + next_rank());
    CHECK_EQUAL(got[i][sizes[i] - 1], 'a' + next_rank());
    free(got[i]);
  }
  MPI_Finalize();
}

/* Arguments that no job takes, before it runs and while it does. */
static void bad_arguments(void) {
  CHECK(ARMCI_Init_thread(99) != 0);
  CHECK(ARMCI_Init_thread(-5) != 0);
  CHECK(ARMCI_Init_mpi_comm(MPI_COMM_NULL) != 0);
  CHECK_EQUAL(ARMCI_Initialized(), 0);
  CHECK_EQUAL(ARMCI_Init(), 0);
  learn_ranks();
  CHECK(ARMCI_Init_thread(99) != 0);
  CHECK(ARMCI_Init_mpi_comm(MPI_COMM_NULL) != 0);
  work();
  CHECK_EQUAL(ARMCI_Finalize(), 0);
}

/* Every call before the start answers, and starts nothing. */
static void too_early(void) {
  char byte = 0;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK_EQUAL(ARMCI_Put(&byte, &byte, 1, 0), FAIL8);
  CHECK_EQUAL(ARMCI_Malloc(NULL, 8), FAIL8);
  CHECK(ARMCI_Malloc_local(8) == NULL);
  CHECK_EQUAL(armci_notify(0), FAIL8);
  CHECK_EQUAL(ARMCI_Test(NULL), FAIL8);
  CHECK_EQUAL(ARMCI_Initialized(), 0);
  MPI_Finalize();
}

/* The environment holds a setting that cannot be used. */
static void refused(void) {
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK_EQUAL(ARMCI_Init(), FAIL);
  CHECK_EQUAL(ARMCI_Initialized(), 0);
  MPI_Finalize();
}

/* ARMCI_Init, which starts MPI, meets a setting that it cannot use. */
static void fail_to_start(void) {
  setenv("GRAPNEL_FENCE", "sideways", 1);
  CHECK_EQUAL(ARMCI_Init(), FAIL);
  CHECK_EQUAL(ARMCI_Initialized(), 0);
  unsetenv("GRAPNEL_FENCE");
  learn_ranks();
  CHECK(!mpi_ended());
}

static void start_again(void) {
  fail_to_start();
  CHECK_EQUAL(ARMCI_Init(), 0);
  work();
  CHECK_EQUAL(ARMCI_Finalize(), 0);
  CHECK(mpi_ended());
}

static void give_up(void) {
  fail_to_start();
  CHECK_EQUAL(ARMCI_Finalize(), 0);
  CHECK(mpi_ended());
  CHECK_EQUAL(ARMCI_Finalize(), 0);
}

int main(int argc, char** argv) {
  const char* const way = argc > 1 ? argv[1] : "";
  if (strcmp(way, "alone") == 0)
    alone();
  else if (strcmp(way, "arguments") == 0)
    with_arguments(&argc, &argv);
  else if (strcmp(way, "threaded") == 0)
    threaded();
  else if (strcmp(way, "counted") == 0)
    counted();
  else if (strcmp(way, "comm") == 0)
    over_comm();
  else if (strcmp(way, "otherwise") == 0)
    asked_otherwise();
  else if (strcmp(way, "forgotten") == 0)
    forgotten(0);
  else if (strcmp(way, "late") == 0)
    forgotten(1);
  else if (strcmp(way, "messages") == 0)
    by_messages(&argc, &argv);
  else if (strcmp(way, "unsent") == 0)
    unsent();
  else if (strcmp(way, "unwaited") == 0)
    unwaited();
  else if (strcmp(way, "bad") == 0)
    bad_arguments();
  else if (strcmp(way, "early") == 0)
    too_early();
  else if (strcmp(way, "refused") == 0)
    refused();
  else if (strcmp(way, "again") == 0)
    start_again();
  else if (strcmp(way, "given-up") == 0)
    give_up();
  else
    return 2;
  if (me == 0) printf("passed: %d ranks, %s\n", ranks, way);
  return 0;
}
