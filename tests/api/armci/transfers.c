/* SPDX-License-Identifier: Apache-2.0 */
/* Every form of put, get and accumulate, to every rank of a ring and to oneself: contiguous, strided, vector, values.
 */
#include "support.h"

enum { kElements = 4096, kRow = 24, kRows = 10, kPlanes = 3, kPitch = 40, kPlanePitch = 600 };

static double* part(void** base, int rank) { return (double*)base[rank]; }

static void contiguous(void) {
  void** base = allocate(kElements * sizeof(double));
  double out[kElements], in[kElements];
  for (int i = 0; i < kElements; ++i) out[i] = me * 10000.0 + i;
  for (int shift = 0; shift < ranks; ++shift) {
    const int target = (me + shift) % ranks, origin = (me + ranks - shift) % ranks;
    CHECK_EQUAL(ARMCI_Put(out, part(base, target), sizeof out, target), 0);
    CHECK_EQUAL(ARMCI_Get(part(base, target), in, sizeof in, target), 0); /* own put, in program order */
    CHECK_EQUAL(memcmp(in, out, sizeof in), 0);
    ARMCI_Barrier();
    for (int i = 0; i < kElements; ++i) CHECK_NEAR(part(base, me)[i], origin * 10000.0 + i);
    ARMCI_Barrier();
  }
  CHECK_EQUAL(ARMCI_Put(out, part(base, 0), 0, 0), 0);
  ARMCI_Copy(out, in, 16);
  CHECK_EQUAL(memcmp(in, out, 16), 0);
  release(base);
}

/* One accumulate of two elements per type, checked by a get. */
#define CHECK_ACCUMULATE(Type, number, has, adds, scales, wanted)                       \
  do {                                                                                  \
    void** base = allocate(64);                                                         \
    Type values[2] = {has, has}, more[2] = {adds, adds}, scale = scales, found[2];      \
    const int target = next_rank();                                                     \
    CHECK_EQUAL(ARMCI_Put(values, base[target], sizeof values, target), 0);             \
    CHECK_EQUAL(ARMCI_Acc(number, &scale, more, base[target], sizeof more, target), 0); \
    CHECK_EQUAL(ARMCI_Get(base[target], found, sizeof found, target), 0);               \
    CHECK(found[0] == (wanted) && found[1] == (wanted));                                \
    release(base);                                                                      \
  } while (0)

static void accumulate_types(void) {
  CHECK_ACCUMULATE(int, ARMCI_ACC_INT, 5, 7, 3, 26);
  CHECK_ACCUMULATE(long, ARMCI_ACC_LNG, 1L << 40, 2, -1, (1L << 40) - 2);
  CHECK_ACCUMULATE(long, ARMCI_ACC_RA, 12, 10, 0, 6); /* exclusive or: no scale */
  CHECK_ACCUMULATE(float, ARMCI_ACC_FLT, 1.5F, 2.0F, 0.5F, 2.5F);
  CHECK_ACCUMULATE(double, ARMCI_ACC_DBL, 1.5, 2.0, 0.25, 2.0);
  float _Complex single = 2.0F + 1.0F * __extension__ 1.0iF;
  double _Complex twice = 1.0 - 2.0 * __extension__ 1.0i;
  CHECK_ACCUMULATE(float _Complex, ARMCI_ACC_CPL, single, single, single, single + single * single);
  CHECK_ACCUMULATE(double _Complex, ARMCI_ACC_DCP, twice, twice, twice, twice + twice * twice);
}

static void strided(void) {
  void** base = allocate((kPlanes * kPlanePitch + kRows * kPitch) * (long)sizeof(double));
  static double out[kPlanes][kRows][kRow], in[kPlanes][kRows][kRow];
  int counts[] = {kRow * sizeof(double), kRows, kPlanes};
  int packed[] = {sizeof out[0][0], sizeof out[0]};
  int spread[] = {kPitch * sizeof(double), kPlanePitch * sizeof(double)};
  const int target = next_rank(), origin = previous_rank();
  for (int i = 0; i < kPlanes * kRows * kRow; ++i) (&out[0][0][0])[i] = me * 1000.0 + i;
  CHECK_EQUAL(ARMCI_PutS(out, packed, base[target], spread, counts, 2, target), 0);
  CHECK_EQUAL(ARMCI_GetS(base[target], spread, in, packed, counts, 2, target), 0);
  CHECK_EQUAL(memcmp(in, out, sizeof in), 0);
  double two = 2;
  CHECK_EQUAL(ARMCI_AccS(ARMCI_ACC_DBL, &two, out, packed, base[target], spread, counts, 2, target), 0);
  ARMCI_Barrier();
  for (int plane = 0; plane < kPlanes; ++plane) {
    for (int row = 0; row < kRows; ++row) {
      for (int i = 0; i < kPitch; ++i) {
        const double found = part(base, me)[plane * kPlanePitch + row * kPitch + i];
        const int at = (plane * kRows + row) * kRow + i;
        CHECK_NEAR(found, i < kRow ? 3 * (origin * 1000.0 + at) : 0.0); /* the gaps stay untouched */
      }
    }
  }
  char buffer[sizeof out];
  armci_write_strided(base[me], 2, spread, counts, buffer);
  CHECK_NEAR(((double*)buffer)[1], 3 * (origin * 1000.0 + 1));
  memset(in, 0, sizeof in);
  armci_read_strided(in, 2, packed, counts, buffer);
  CHECK_EQUAL(memcmp(in, buffer, sizeof in), 0);
  release(base);
}

/* One level, the patch of a matrix: blocking and nonblocking, forwards and from its last row to its first. */
static void patch(void) {
  void** base = allocate(kRows * kPitch * (long)sizeof(double));
  const int target = next_rank(), origin = previous_rank();
  double out[kRows][kRow], in[kRows][kRow];
  int counts[] = {kRow * sizeof(double), kRows};
  int packed = sizeof out[0], spread = kPitch * sizeof(double), back = -packed;
  for (int i = 0; i < kRows * kRow; ++i) (&out[0][0])[i] = me * 1000.0 + i;
  for (int nonblocking = 0; nonblocking < 2; ++nonblocking) {
    armci_hdl_t handle;
    ARMCI_INIT_HANDLE(&handle);
    memset(in, 0, sizeof in);
    if (nonblocking) {
      CHECK_EQUAL(ARMCI_NbPutS(out, &packed, base[target], &spread, counts, 1, target, &handle), 0);
      CHECK_EQUAL(ARMCI_Wait(&handle), 0);
      CHECK_EQUAL(ARMCI_NbGetS(base[target], &spread, in[kRows - 1], &back, counts, 1, target, &handle), 0);
      CHECK_EQUAL(ARMCI_Wait(&handle), 0);
    } else {
      CHECK_EQUAL(ARMCI_PutS(out, &packed, base[target], &spread, counts, 1, target), 0);
      CHECK_EQUAL(ARMCI_GetS(base[target], &spread, in[kRows - 1], &back, counts, 1, target), 0);
    }
    for (int row = 0; row < kRows; ++row) CHECK_EQUAL(memcmp(in[kRows - 1 - row], out[row], sizeof out[row]), 0);
    ARMCI_Barrier();
    for (int i = 0; i < kRows * kPitch; ++i) {
      const int row = i / kPitch, column = i % kPitch;
      CHECK_NEAR(part(base, me)[i], column < kRow ? origin * 1000.0 + row * kRow + column : 0.0);
    }
    ARMCI_Barrier();
  }
  release(base);
}

/* 12 levels of 2: more than ARMCI's 8. */
static void many_levels(void) {
  void** base = allocate(1 << 14);
  char out[1 << 12], in[1 << 12];
  int counts[13], packed[12], spread[12];
  counts[0] = 1;
  for (int level = 0; level < 12; ++level) {
    counts[level + 1] = 2;
    packed[level] = 1 << level;
    spread[level] = 1 << (level + 1);
  }
  for (int i = 0; i < 1 << 12; ++i) out[i] = (char)(i * 7 + me);
  CHECK_EQUAL(ARMCI_PutS(out, packed, base[next_rank()], spread, counts, 12, next_rank()), 0);
  CHECK_EQUAL(ARMCI_GetS(base[next_rank()], spread, in, packed, counts, 12, next_rank()), 0);
  CHECK_EQUAL(memcmp(in, out, sizeof in), 0);
  release(base);
}

static void vector(void) {
  enum { kPieces = 100 };
  void** base = allocate(2 * kPieces * 64);
  static long out[2 * kPieces], in[2 * kPieces];
  static void *mine[2 * kPieces], *theirs[2 * kPieces], *back[2 * kPieces];
  const int target = next_rank();
  for (int i = 0; i < 2 * kPieces; ++i) {
    out[i] = me * 1000 + i;
    mine[i] = &out[i];
    back[i] = &in[i];
    theirs[i] = (char*)base[target] + 64 * (2 * kPieces - 1 - i);
  }
  armci_giov_t two[2] = {{mine, theirs, kPieces, sizeof(long)},
                         {mine + kPieces, theirs + kPieces, kPieces, sizeof(long)}};
  armci_giov_t get[2] = {{theirs, back, kPieces, sizeof(long)},
                         {theirs + kPieces, back + kPieces, kPieces, sizeof(long)}};
  long scale = 10;
  CHECK_EQUAL(ARMCI_PutV(two, 2, target), 0);
  CHECK_EQUAL(ARMCI_AccV(ARMCI_ACC_LNG, &scale, two, 2, target), 0);
  CHECK_EQUAL(ARMCI_GetV(get, 2, target), 0);
  for (int i = 0; i < 2 * kPieces; ++i) CHECK_EQUAL(in[i], 11 * out[i]);
  CHECK_EQUAL(ARMCI_PutV(two, 0, target), 0);
  release(base);
}

static void values(void) {
  void** base = allocate(64);
  char* const to = base[next_rank()];
  armci_hdl_t handle;
  ARMCI_INIT_HANDLE(&handle);
  CHECK_EQUAL(ARMCI_PutValueInt(me + 1, to, next_rank()), 0);
  CHECK_EQUAL(ARMCI_PutValueLong(1L << 40, to + 8, next_rank()), 0);
  CHECK_EQUAL(ARMCI_NbPutValueFloat(1.5F, to + 16, next_rank(), &handle), 0);
  CHECK_EQUAL(ARMCI_NbPutValueDouble(2.5, to + 24, next_rank(), NULL), 0);
  CHECK_EQUAL(ARMCI_NbPutValueInt(me + 2, to + 32, next_rank(), &handle), 0);
  CHECK_EQUAL(ARMCI_NbPutValueLong(me + 3, to + 40, next_rank(), &handle), 0);
  CHECK_EQUAL(ARMCI_PutValueFloat(4.5F, to + 48, next_rank()), 0);
  CHECK_EQUAL(ARMCI_PutValueDouble(5.5, to + 56, next_rank()), 0);
  CHECK_EQUAL(ARMCI_Wait(&handle), 0);
  ARMCI_Barrier();
  char* const mine = base[me];
  CHECK_EQUAL(*(int*)mine, previous_rank() + 1);
  CHECK_EQUAL(ARMCI_GetValueInt(to, next_rank()), me + 1);
  CHECK_EQUAL(ARMCI_GetValueLong(to + 8, next_rank()), 1L << 40);
  CHECK_NEAR(ARMCI_GetValueFloat(to + 16, next_rank()), 1.5F);
  CHECK_NEAR(ARMCI_GetValueDouble(to + 24, next_rank()), 2.5);
  CHECK_EQUAL(*(int*)(mine + 32), previous_rank() + 2);
  CHECK_EQUAL(*(long*)(mine + 40), previous_rank() + 3);
  CHECK_NEAR(*(float*)(mine + 48), 4.5F);
  CHECK_NEAR(*(double*)(mine + 56), 5.5);
  release(base);
}

static void walk(void) {
  char place[6][8];
  int stride[] = {8}, counts[] = {3, 5};
  stride_info_t info;
  int rows = 0;
  for (armci_stride_info_init(&info, &place[1][2], 1, stride, counts); armci_stride_info_has_more(&info);
       armci_stride_info_next(&info)) {
    CHECK_EQUAL(armci_stride_info_pos(&info), rows);
    CHECK(armci_stride_info_seg_ptr(&info) == &place[1 + rows][2]);
    CHECK_EQUAL(armci_stride_info_seg_off(&info), 8 * rows);
    CHECK_EQUAL(armci_stride_info_seg_size(&info), 3);
    ++rows;
  }
  CHECK_EQUAL(rows, 5);
  CHECK_EQUAL(armci_stride_info_size(&info), 5);
  CHECK_EQUAL(armci_stride_info_count(&info), 5);
  armci_stride_info_destroy(&info);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  contiguous();
  accumulate_types();
  strided();
  patch();
  many_levels();
  vector();
  values();
  walk();
  finish();
  return 0;
}
