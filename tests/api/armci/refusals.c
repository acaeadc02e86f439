/* SPDX-License-Identifier: Apache-2.0 */
/* Calls with an int result refuse what is wrong, say so in one line that begins with their name, and touch nothing; the
 * job goes on. Each mistake in each call that can have it, against one's own rank, a neighbour and another node. */
#include <unistd.h>

#include "support.h"

enum { kBytes = 1 << 12 };

/* ---- stderr, read back ---- */

static int log_file = -1, real_stderr = -1;
static off_t log_seen;

static void capture_stderr(void) {
  FILE* const file = tmpfile();
  CHECK(file != NULL);
  log_file = dup(fileno(file));
  fclose(file);
  real_stderr = dup(STDERR_FILENO);
  dup2(log_file, STDERR_FILENO);
}

static void restore_stderr(void) { dup2(real_stderr, STDERR_FILENO); }

static void refused_(int result, const char* call, const char* text, int line) {
  char said[1024] = "", begins[64];
  const ssize_t bytes = pread(log_file, said, sizeof said - 1, log_seen);
  if (bytes > 0) log_seen += bytes;
  snprintf(begins, sizeof begins, " %.*s: ", (int)strcspn(call, "("), call);
  const char* const end = strchr(said, '\n');
  if (result < 0 && bytes > 0 && end == said + bytes - 1 && strstr(said, begins) && strstr(said, text)) return;
  restore_stderr();
  fprintf(stderr, "FAILED rank %d: line %d: %s answered %d and said \"%s\", not \"%s\"\n", me, line, call, result, said,
          text);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

/* Answers below 0, and one line with the call's name and this text. */
#define REFUSED(call, text) refused_(call, #call, text, __LINE__)

/* ---- what the calls are made of; each test spoils one of them ---- */

static double mine[64], one = 1;
static int word, row[] = {32}, counts[] = {16, 2};
static long wide;
static void *from[2], *to[2];
static armci_giov_t pieces;
static armci_hdl_t handle;

static void set_pieces(void* remote, int to_target) {
  from[0] = from[1] = to_target ? (void*)mine : remote;
  to[0] = to[1] = to_target ? remote : (void*)mine;
  pieces.src_ptr_array = from;
  pieces.dst_ptr_array = to;
  pieces.ptr_array_len = 2;
  pieces.bytes = 8;
}

/* Every call that takes an address of another rank. */
static void every_address(char* at, int proc, const char* text) {
  int* const flag = (int*)at;
  REFUSED(ARMCI_Put(mine, at, 8, proc), text);
  REFUSED(ARMCI_Get(at, mine, 8, proc), text);
  REFUSED(ARMCI_Acc(ARMCI_ACC_DBL, &one, mine, at, 8, proc), text);
  REFUSED(ARMCI_Put_flag(mine, at, 8, flag, 1, proc), text);
  REFUSED(ARMCI_PutS(mine, row, at, row, counts, 1, proc), text);
  REFUSED(ARMCI_GetS(at, row, mine, row, counts, 1, proc), text);
  REFUSED(ARMCI_AccS(ARMCI_ACC_DBL, &one, mine, row, at, row, counts, 1, proc), text);
  REFUSED(ARMCI_PutS_flag(mine, row, at, row, counts, 1, flag, 1, proc), text);
  REFUSED(ARMCI_PutS_flag_dir(mine, row, at, row, counts, 1, flag, 1, proc), text);
  REFUSED(ARMCI_NbPut(mine, at, 8, proc, &handle), text);
  REFUSED(ARMCI_NbGet(at, mine, 8, proc, NULL), text);
  REFUSED(ARMCI_NbAcc(ARMCI_ACC_DBL, &one, mine, at, 8, proc, &handle), text);
  REFUSED(ARMCI_NbPutS(mine, row, at, row, counts, 1, proc, &handle), text);
  REFUSED(ARMCI_NbGetS(at, row, mine, row, counts, 1, proc, NULL), text);
  REFUSED(ARMCI_NbAccS(ARMCI_ACC_DBL, &one, mine, row, at, row, counts, 1, proc, &handle), text);
  REFUSED(ARMCI_PutValueInt(1, at, proc), text);
  REFUSED(ARMCI_PutValueLong(1, at, proc), text);
  REFUSED(ARMCI_PutValueFloat(1, at, proc), text);
  REFUSED(ARMCI_PutValueDouble(1, at, proc), text);
  REFUSED(ARMCI_NbPutValueInt(1, at, proc, &handle), text);
  REFUSED(ARMCI_NbPutValueLong(1, at, proc, &handle), text);
  REFUSED(ARMCI_NbPutValueFloat(1, at, proc, NULL), text);
  REFUSED(ARMCI_NbPutValueDouble(1, at, proc, NULL), text);
  set_pieces(at, 1);
  REFUSED(ARMCI_PutV(&pieces, 1, proc), text);
  REFUSED(ARMCI_AccV(ARMCI_ACC_DBL, &one, &pieces, 1, proc), text);
  REFUSED(ARMCI_NbPutV(&pieces, 1, proc, &handle), text);
  REFUSED(ARMCI_NbAccV(ARMCI_ACC_DBL, &one, &pieces, 1, proc, NULL), text);
  set_pieces(at, 0);
  REFUSED(ARMCI_GetV(&pieces, 1, proc), text);
  REFUSED(ARMCI_NbGetV(&pieces, 1, proc, &handle), text);
  REFUSED(ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &word, at, 1, proc), text);
  REFUSED(ARMCI_Rmw(ARMCI_SWAP_LONG, &wide, at, 0, proc), text);
  REFUSED(ARMCI_Rmw_long(ARMCI_FETCH_AND_ADD_LONG, &wide, at, 1, proc), text);
  REFUSED(ARMCI_Compare_and_swap_int(&word, at, 0, 1, proc), text);
  REFUSED(ARMCI_Compare_and_swap_long(&wide, at, 0, 1, proc), text);
}

static void every_vector(armci_giov_t* vectors, int length, int proc, const char* text);

static void ranks_outside(char* there) {
  const int outside[] = {-1, ranks, 1 << 30};
  for (int i = 0; i < 3; ++i) {
    char text[32];
    snprintf(text, sizeof text, "rank %d is outside", outside[i]);
    every_address(there, outside[i], text);
    every_vector(&pieces, 0, outside[i], text); /* although there is no piece */
    REFUSED(armci_notify(outside[i]), text);
    REFUSED(armci_notify_wait(outside[i], &word), text);
    REFUSED(ARMCI_WaitProc(outside[i]), text);
  }
}

static void negative_sizes(char* there, int proc) {
  const char* const text = "bytes is -8";
  REFUSED(ARMCI_Put(mine, there, -8, proc), text);
  REFUSED(ARMCI_Get(there, mine, -8, proc), text);
  REFUSED(ARMCI_Acc(ARMCI_ACC_DBL, &one, mine, there, -8, proc), text);
  REFUSED(ARMCI_Put_flag(mine, there, -8, (int*)there, 1, proc), text);
  REFUSED(ARMCI_NbPut(mine, there, -8, proc, &handle), text);
  REFUSED(ARMCI_NbGet(there, mine, -8, proc, &handle), text);
  REFUSED(ARMCI_NbAcc(ARMCI_ACC_DBL, &one, mine, there, -8, proc, &handle), text);
}

static void accumulates(char* there, int proc) {
  const int types[] = {ARMCI_ACC_OFF, ARMCI_ACC_RA + 1, 0};
  int odd[] = {12, 2};
  set_pieces(there, 1);
  for (int i = 0; i < 3; ++i) {
    char text[32];
    snprintf(text, sizeof text, "type %d is none of", types[i]);
    REFUSED(ARMCI_Acc(types[i], &one, mine, there, 8, proc), text);
    REFUSED(ARMCI_AccS(types[i], &one, mine, row, there, row, counts, 1, proc), text);
    REFUSED(ARMCI_AccV(types[i], &one, &pieces, 1, proc), text);
    REFUSED(ARMCI_NbAcc(types[i], &one, mine, there, 8, proc, &handle), text);
    REFUSED(ARMCI_NbAccS(types[i], &one, mine, row, there, row, counts, 1, proc, &handle), text);
    REFUSED(ARMCI_NbAccV(types[i], &one, &pieces, 1, proc, &handle), text);
  }
  const char* const cut = "bytes are no whole number of elements of 8";
  pieces.bytes = 12;
  REFUSED(ARMCI_Acc(ARMCI_ACC_DBL, &one, mine, there, 7, proc), cut);
  REFUSED(ARMCI_AccS(ARMCI_ACC_LNG, &one, mine, row, there, row, odd, 1, proc), cut);
  REFUSED(ARMCI_AccV(ARMCI_ACC_CPL, &one, &pieces, 1, proc), cut);
  REFUSED(ARMCI_NbAcc(ARMCI_ACC_DBL, &one, mine, there, 7, proc, &handle), cut);
  REFUSED(ARMCI_NbAccS(ARMCI_ACC_LNG, &one, mine, row, there, row, odd, 1, proc, &handle), cut);
  REFUSED(ARMCI_NbAccV(ARMCI_ACC_CPL, &one, &pieces, 1, proc, &handle), cut);
}

/* Every strided call. */
static void every_shape(char* there, int* near, int* far, int* numbers, int levels, int proc, const char* text) {
  int* const flag = (int*)there;
  REFUSED(ARMCI_PutS(mine, near, there, far, numbers, levels, proc), text);
  REFUSED(ARMCI_GetS(there, near, mine, far, numbers, levels, proc), text);
  REFUSED(ARMCI_AccS(ARMCI_ACC_DBL, &one, mine, near, there, far, numbers, levels, proc), text);
  REFUSED(ARMCI_PutS_flag(mine, near, there, far, numbers, levels, flag, 1, proc), text);
  REFUSED(ARMCI_PutS_flag_dir(mine, near, there, far, numbers, levels, flag, 1, proc), text);
  REFUSED(ARMCI_NbPutS(mine, near, there, far, numbers, levels, proc, &handle), text);
  REFUSED(ARMCI_NbGetS(there, near, mine, far, numbers, levels, proc, &handle), text);
  REFUSED(ARMCI_NbAccS(ARMCI_ACC_DBL, &one, mine, near, there, far, numbers, levels, proc, &handle), text);
}

static void shapes(char* there, int proc) {
  int no_row[] = {-16, 2}, no_rows[] = {16, -2};
  every_shape(there, row, row, counts, -1, proc, "levels is -1; 0..16");
  every_shape(there, row, row, counts, 17, proc, "levels is 17; 0..16");
  every_shape(there, row, row, NULL, 1, proc, "counts is NULL");
  every_shape(there, NULL, row, counts, 1, proc, "src_stride is NULL");
  every_shape(there, row, NULL, counts, 1, proc, "dst_stride is NULL");
  every_shape(there, row, row, no_row, 1, proc, "-16");
  every_shape(there, row, row, no_rows, 1, proc, "count[1] is -2");
  int flag_outside[2];
  REFUSED(ARMCI_PutS_flag(mine, row, there, row, counts, 1, flag_outside, 1, proc), "outside every segment");
  REFUSED(ARMCI_PutS_flag_dir(mine, row, there, row, counts, 1, flag_outside, 1, proc), "outside every segment");
  REFUSED(ARMCI_Put_flag(mine, there, 8, flag_outside, 1, proc), "outside every segment");
  REFUSED(ARMCI_Put_flag(mine, there, 8, (int*)(there + 1), 1, proc), "not aligned to 4 bytes");
  /* The last row alone lies outside. */
  int far_apart[] = {1 << 20};
  REFUSED(ARMCI_PutS(mine, row, there + kBytes - 16, far_apart, counts, 1, proc), "outside every segment");
}

/* Every vector call. */
static void every_vector(armci_giov_t* vectors, int length, int proc, const char* text) {
  REFUSED(ARMCI_PutV(vectors, length, proc), text);
  REFUSED(ARMCI_GetV(vectors, length, proc), text);
  REFUSED(ARMCI_AccV(ARMCI_ACC_DBL, &one, vectors, length, proc), text);
  REFUSED(ARMCI_NbPutV(vectors, length, proc, &handle), text);
  REFUSED(ARMCI_NbGetV(vectors, length, proc, &handle), text);
  REFUSED(ARMCI_NbAccV(ARMCI_ACC_DBL, &one, vectors, length, proc, NULL), text);
}

static void vectors(char* there, int proc) {
  set_pieces(there, 1);
  every_vector(NULL, 1, proc, "vectors is NULL");
  every_vector(&pieces, -1, proc, "length is -1");
  pieces.ptr_array_len = -1;
  every_vector(&pieces, 1, proc, "ptr_array_len is -1");
  set_pieces(there, 1);
  pieces.bytes = -8;
  every_vector(&pieces, 1, proc, "bytes is -8");
  set_pieces(there, 1);
  pieces.dst_ptr_array = NULL;
  every_vector(&pieces, 1, proc, "pointer array is NULL");
  set_pieces(there, 1);
  pieces.src_ptr_array = NULL;
  every_vector(&pieces, 1, proc, "pointer array is NULL");
  set_pieces(there, 1);
  to[1] = mine; /* the first piece is good: nothing of it may be written */
  REFUSED(ARMCI_PutV(&pieces, 1, proc), "outside every segment");
  REFUSED(ARMCI_AccV(ARMCI_ACC_DBL, &one, &pieces, 1, proc), "outside every segment");
}

static void words(char* there, int proc) {
  REFUSED(ARMCI_Rmw(9, &word, there, 1, proc), "op is 9");
  REFUSED(ARMCI_Rmw(ARMCI_FETCH_AND_ADD, NULL, there, 1, proc), "ploc is NULL");
  REFUSED(ARMCI_Rmw(ARMCI_SWAP, NULL, there, 1, proc), "ploc is NULL");
  REFUSED(ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &word, there + 2, 1, proc), "not aligned to 4 bytes");
  REFUSED(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &wide, there + 4, 1, proc), "not aligned to 8 bytes");
  REFUSED(ARMCI_Rmw_long(ARMCI_SWAP, &wide, there, 1, proc), "op is 10");
  REFUSED(ARMCI_Rmw_long(ARMCI_SWAP_LONG, NULL, there, 1, proc), "ploc is NULL");
  REFUSED(ARMCI_Compare_and_swap_int(NULL, there, 0, 1, proc), "old is NULL");
  REFUSED(ARMCI_Compare_and_swap_long(NULL, there, 0, 1, proc), "old is NULL");
  REFUSED(ARMCI_Compare_and_swap_long(&wide, there + 4, 0, 1, proc), "not aligned to 8 bytes");
}

/* Collective, or about no target. */
static void others(void) {
  void* base[64];
  int mine_of_group;
  ARMCI_Group none = {MPI_COMM_NULL, 1000, 1};
  REFUSED(ARMCI_Test(NULL), "handle is NULL");
  REFUSED(ARMCI_Create_mutexes(me == 0 ? -1 : 1), "count is -1"); /* in all ranks */
  REFUSED(ARMCI_Destroy_mutexes(), "no mutexes");
  if (ARMCI_Create_mutexes(1) != 0) MPI_Abort(MPI_COMM_WORLD, 4);
  REFUSED(ARMCI_Create_mutexes(1), "exist already");
  if (ARMCI_Destroy_mutexes() != 0) MPI_Abort(MPI_COMM_WORLD, 5);
  REFUSED(ARMCI_Malloc(me == 0 ? NULL : base, 8), me == 0 ? "pointers is NULL" : "rank 0 refuses its arguments");
  REFUSED(ARMCI_Malloc(base, me == 0 ? -8 : 8), me == 0 ? "bytes is -8" : "rank 0 refuses its arguments");
  REFUSED(ARMCI_Malloc_group(base, 8, NULL), "group is NULL");
  REFUSED(ARMCI_Malloc_group_memdev(base, 8, NULL, "hbm"), "group is NULL");
  REFUSED(ARMCI_Free_group(mine, NULL), "group is NULL");
  REFUSED(ARMCI_Malloc_group(base, 8, &none), "group 1000 does not exist");
  REFUSED(ARMCI_Free_group(mine, &none), "group 1000 does not exist");
  REFUSED(ARMCI_Group_rank(&none, &mine_of_group), "group 1000 does not exist");
  REFUSED(ARMCI_Group_rank(NULL, &mine_of_group), "group is NULL");
  REFUSED(ARMCI_Free(mine), "freed twice?");
  REFUSED(ARMCI_Free_memdev(mine), "freed twice?");
  REFUSED(ARMCI_Free_local(mine), "is not of ARMCI_Malloc_local");
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  ARMCI_INIT_HANDLE(&handle);
  void** base = allocate(kBytes);
  memset(base[me], 7, kBytes);
  ARMCI_Barrier();
  capture_stderr();
  for (int proc = 0; proc < ranks; ++proc) {
    char* const there = base[proc];
    every_address(NULL, proc, "outside every segment");
    every_address((char*)mine, proc, "outside every segment");
    every_address(there + (1 << 20), proc, "outside every segment");
    ranks_outside(there);
    negative_sizes(there, proc);
    accumulates(there, proc);
    shapes(there, proc);
    vectors(there, proc);
    words(there, proc);
  }
  others();
  restore_stderr();
  CHECK_EQUAL(ARMCI_Wait(&handle), 0); /* nothing of all that was started */
  CHECK_EQUAL(ARMCI_WaitAll(), 0);
  ARMCI_Barrier();
  for (int i = 0; i < kBytes; ++i) CHECK_EQUAL(((char*)base[me])[i], 7);
  for (int i = 0; i < 64; ++i) CHECK(mine[i] == 0);
  release(base);
  finish();
  return 0;
}
