/* One random program on a taken window and on one of the host (info grapnel=off): memories and results are equal.
 *
 * Each rank has a slot of its own in each target, and each operation of an epoch a field of its own in that slot, so
 * that a right library has one result; sums of all ranks go to fields that all share. What the hosts were not seen to
 * do right in runs of this program is left out: with Open MPI 4.1, dynamic windows, compare-and-swap, and derived types
 * in MPI_Get_accumulate; with MPICH 4.0, bases that are no multiples of 16. The causes were not looked for.
 *
 * usage: differential [FIRST_SEED [SEEDS]]
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

enum { kField = 64, kFields = 8, kSlot = kField * kFields, kEpochs = 12, kMostRanks = 8, kShared = 256 };
enum { kBytes = kSlot * kMostRanks + kShared };
enum { kTaken, kHosts, kSides };

typedef struct {
  MPI_Win window;
  char* memory;
  MPI_Aint bases[kMostRanks]; /* dynamic: of each rank's memory */
  char results[kFields][kField];
} Side;

static Side sides[kSides];
static char created[kSides][kBytes] __attribute__((aligned(64)));
static unsigned state;  /* of this rank's random numbers */
static unsigned common; /* of those that all ranks share */

static unsigned next_of(unsigned* from) {
  *from = *from * 1664525u + 1013904223u;
  return *from >> 8;
}
static unsigned any(unsigned below) { return next_of(&state) % below; }

/* ---- windows */

enum { kAllocate, kCreate, kAllocMem, kSharedMemory, kDynamic };
#ifdef OPEN_MPI
enum { kFlavors = kDynamic, kHasWholeHost = 0, kHasBitsOfLongs = OMPI_MAJOR_VERSION < 5 };
#else
enum { kFlavors = kDynamic + 1, kHasWholeHost = 1, kHasBitsOfLongs = 1 };
#endif

static void make(Side* side, int flavor, char* own, MPI_Info info) {
  memset(side->bases, 0, sizeof side->bases);
  side->memory = own;
  if (flavor == kAllocate) MPI_Win_allocate(kBytes, 1, info, MPI_COMM_WORLD, &side->memory, &side->window);
  if (flavor == kSharedMemory) MPI_Win_allocate_shared(kBytes, 1, info, MPI_COMM_WORLD, &side->memory, &side->window);
  if (flavor == kAllocMem) MPI_Alloc_mem(kBytes, MPI_INFO_NULL, &side->memory);
  if (flavor == kCreate || flavor == kAllocMem) {
    MPI_Win_create(side->memory, kBytes, 1, info, MPI_COMM_WORLD, &side->window);
  }
  if (flavor == kDynamic) {
    MPI_Aint mine = 0;
    MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &side->window);
    MPI_Win_attach(side->window, own, kBytes);
    MPI_Get_address(own, &mine);
    MPI_Allgather(&mine, 1, MPI_AINT, side->bases, 1, MPI_AINT, MPI_COMM_WORLD);
  }
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, side->window);
  for (int i = 0; i < kBytes; ++i) side->memory[i] = (char)(i * 7 + me);
  MPI_Win_unlock(me, side->window);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void end(Side* side, int flavor) {
  if (flavor == kDynamic) MPI_Win_detach(side->window, side->memory);
  MPI_Win_free(&side->window);
  if (flavor == kAllocMem) MPI_Free_mem(side->memory);
}

/* ---- operations */

typedef struct {
  MPI_Datatype type;
  int extent, size;
} Type;

enum { kTypes = 10, kIntegers = 4, kFirstDerived = 7 };
static Type types[kTypes];

static void make_types(void) {
  const MPI_Datatype basic[kFirstDerived] = {MPI_INT,    MPI_LONG, MPI_SHORT, MPI_UNSIGNED,
                                             MPI_DOUBLE, MPI_BYTE, MPI_2INT};
  const int lengths[3] = {1, 2, 1}, places[3] = {5, 2, 0};
  for (int i = 0; i < kFirstDerived; ++i) types[i].type = basic[i];
  MPI_Type_vector(3, 1, 2, MPI_INT, &types[7].type);
  MPI_Type_indexed(3, lengths, places, MPI_SHORT, &types[8].type);
  MPI_Type_create_resized(MPI_INT, 0, 12, &types[9].type);
  for (int i = 0; i < kTypes; ++i) {
    MPI_Aint lower = 0, extent = 0;
    if (i >= kFirstDerived) MPI_Type_commit(&types[i].type);
    MPI_Type_get_extent(types[i].type, &lower, &extent);
    MPI_Type_size(types[i].type, &types[i].size);
    types[i].extent = (int)extent;
  }
}

typedef struct {
  int what, target, field, is_shared, with_request;
  const Type* type;
  int count;
  MPI_Op op;
  char origin[kField], compare[kField];
} Operation;

/* Left out: MPI_MIN and MPI_MAX of unsigned numbers, which MPICH 4.0 compares as signed ones, as a program of MPI alone
 * showed. The rest was seen in runs of this program only, and its causes were not looked for: with Open MPI 4.1
 * unsigned numbers too were compared as if they were signed, logical operations left their target as it was, and sums
 * and products of short numbers ended at the largest one. Open MPI 5.0.7 by itself left a MPI_LONG of a created window
 * as it was, by each bitwise operation. */
static MPI_Op operation_for(int type) {
  const MPI_Op numbers[9] = {MPI_REPLACE, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_LAND};
  const int is_short = type == 2 || type == 8, is_unsigned = type == 3;
  if (type == 6) return any(2) ? MPI_MAXLOC : MPI_MINLOC;
  if (type == 4 || type == 5) return MPI_REPLACE;
  if (is_unsigned) return numbers[any(6)];
  if (type == 1 && !kHasBitsOfLongs) return numbers[4 + any(4)];
  if (kHasWholeHost) return numbers[any(9)];
  return numbers[any(is_short ? 4 : 8)];
}

enum { kPut, kGet, kAccumulate, kGetAccumulate, kFetchAndOp, kCompareAndSwap, kWays };

static void choose(Operation* one, int target, int field, int passive) {
  const int type = (int)any(kTypes);
  memset(one, 0, sizeof *one);
  one->what = (int)any(kHasWholeHost ? kWays : kCompareAndSwap);
  one->type = &types[type];
  one->target = target;
  one->field = field;
  one->with_request = passive && one->what <= kGetAccumulate && any(3) == 0;
  one->op = operation_for(type);
  one->count = 1 + (int)any((unsigned)(kField / one->type->extent));
  for (int i = 0; i < kField; ++i) one->origin[i] = (char)any(256), one->compare[i] = (char)any(2);
  if (one->what == kGetAccumulate && type >= kFirstDerived && !kHasWholeHost) one->what = kAccumulate;
  if (one->what == kFetchAndOp && type >= kFirstDerived) one->what = kGet;
  if (one->what == kCompareAndSwap && type >= kIntegers) one->what = kPut;
  if (one->what == kAccumulate && type == 1 && any(2) == 0) {
    one->is_shared = 1; /* of MPI_LONG: one sum of all */
    one->op = MPI_SUM;
  }
}

static void run(Side* side, const Operation* one) {
  const MPI_Aint slot = one->is_shared ? kSlot * kMostRanks : me * kSlot + one->field * kField;
  const MPI_Aint at = MPI_Aint_add(side->bases[one->target], slot);
  char* const result = side->results[one->field];
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Request* const asked = one->with_request ? &request : NULL;
  const MPI_Datatype type = one->type->type;
  const int n = one->count, to = one->target;
  if (one->what == kPut && asked) MPI_Rput(one->origin, n, type, to, at, n, type, side->window, asked);
  if (one->what == kPut && !asked) MPI_Put(one->origin, n, type, to, at, n, type, side->window);
  if (one->what == kGet && asked) MPI_Rget(result, n, type, to, at, n, type, side->window, asked);
  if (one->what == kGet && !asked) MPI_Get(result, n, type, to, at, n, type, side->window);
  if (one->what == kAccumulate && asked) {
    MPI_Raccumulate(one->origin, n, type, to, at, n, type, one->op, side->window, asked);
  } else if (one->what == kAccumulate) {
    MPI_Accumulate(one->origin, n, type, to, at, n, type, one->op, side->window);
  }
  if (one->what == kGetAccumulate && asked) {
    MPI_Rget_accumulate(one->origin, n, type, result, n, type, to, at, n, type, one->op, side->window, asked);
  } else if (one->what == kGetAccumulate) {
    MPI_Get_accumulate(one->origin, n, type, result, n, type, to, at, n, type, one->op, side->window);
  }
  if (one->what == kFetchAndOp) MPI_Fetch_and_op(one->origin, result, type, to, at, one->op, side->window);
  if (one->what == kCompareAndSwap) {
    MPI_Compare_and_swap(one->origin, one->compare, result, type, to, at, side->window);
  }
  if (asked) MPI_Wait(asked, MPI_STATUS_IGNORE);
}

/* ---- epochs */

enum { kFence, kPostAndStart, kLock, kLockAll, kEpochKinds };

static void open_epoch(MPI_Win window, int kind, int target, MPI_Group others) {
  if (kind == kFence) MPI_Win_fence(0, window);
  if (kind == kPostAndStart) MPI_Win_post(others, 0, window), MPI_Win_start(others, 0, window);
  if (kind == kLock) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window);
  if (kind == kLockAll) MPI_Win_lock_all(0, window);
}

static void close_epoch(MPI_Win window, int kind, int target) {
  if (kind == kFence) MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  if (kind == kPostAndStart) MPI_Win_complete(window), MPI_Win_wait(window);
  if (kind == kLock) MPI_Win_unlock(target, window);
  if (kind == kLockAll) MPI_Win_unlock_all(window);
}

/* The first byte that differs; `bytes` where none does. */
static int first_difference(const char* taken, const char* hosts, int bytes) {
  int at = 0;
  while (at < bytes && taken[at] == hosts[at]) ++at;
  return at;
}

static void print_bytes(const char* side, const char* bytes) {
  fprintf(stderr, "rank %d: %s:", me, side);
  for (int i = 0; i < kField; ++i) fprintf(stderr, " %02x", (unsigned char)bytes[i]);
  fprintf(stderr, "\n");
}

/* Whether some rank has found a difference. */
static int differ(void) {
  int mine = 0, any_rank = 0;
  for (int i = 0; i < kSides; ++i) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, sides[i].window);
  const int memory = first_difference(sides[kTaken].memory, sides[kHosts].memory, kBytes);
  for (int i = 0; i < kSides; ++i) MPI_Win_unlock(me, sides[i].window);
  const int result = first_difference(sides[kTaken].results[0], sides[kHosts].results[0], kFields * kField);
  if (memory < kBytes) {
    fprintf(stderr, "rank %d: memory differs at %d: slot of rank %d, field %d\n", me, memory, memory / kSlot,
            memory % kSlot / kField);
    print_bytes("the taken window", sides[kTaken].memory + memory / kField * kField);
    print_bytes("the host's window", sides[kHosts].memory + memory / kField * kField);
    mine = 1;
  }
  if (result < kFields * kField) {
    fprintf(stderr, "rank %d: results differ at %d: operation %d\n", me, result, result / kField);
    mine = 1;
  }
  mistakes += mine;
  MPI_Allreduce(&mine, &any_rank, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return any_rank;
}

static const char* name_of(MPI_Op op) {
  if (op == MPI_SUM) return "sum";
  if (op == MPI_PROD) return "product";
  if (op == MPI_MAX) return "maximum";
  if (op == MPI_MIN) return "minimum";
  if (op == MPI_BAND) return "bit_and";
  if (op == MPI_BOR) return "bit_or";
  if (op == MPI_BXOR) return "bit_xor";
  if (op == MPI_LAND) return "logical_and";
  return op == MPI_REPLACE ? "replace" : op == MPI_MAXLOC ? "maxloc" : "minloc";
}

static void print_operations(const Operation* operations, int count) {
  const char* const ways[kWays] = {"put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"};
  for (int i = 0; i < count; ++i) {
    const Operation* const one = &operations[i];
    fprintf(stderr, "rank %d: operation %d: %s (%s)%s of %d of type %d to rank %d%s\n", me, i, ways[one->what],
            name_of(one->op), one->with_request ? " with a request" : "", one->count, (int)(one->type - types),
            one->target, one->is_shared ? ", shared" : "");
    print_bytes("its operands", one->origin);
  }
}

/* False: the two windows differ. */
static int one_epoch(unsigned seed, int flavor, int epoch, MPI_Group others) {
  Operation operations[kFields];
  const int kind = (int)(next_of(&common) % (ranks > 1 ? kEpochKinds : 1));
  const int count = 1 + (int)any(kFields), target = (int)any((unsigned)ranks);
  for (int i = 0; i < count; ++i) {
    int to = kind == kLock ? target : (int)any((unsigned)ranks);
    if (kind == kPostAndStart && to == me) to = (me + 1) % ranks;
    choose(&operations[i], to, i, kind >= kLock);
  }
  for (int i = 0; i < kSides; ++i) {
    memset(sides[i].results, 0, sizeof sides[i].results);
    open_epoch(sides[i].window, kind, target, others);
    for (int at = 0; at < count; ++at) run(&sides[i], &operations[at]);
    close_epoch(sides[i].window, kind, target);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (!differ()) return 1;
  if (me == 0) fprintf(stderr, "seed %u, flavour %d, epoch %d of kind %d\n", seed, flavor, epoch, kind);
  print_operations(operations, count);
  return 0;
}

int main(int argc, char** argv) {
  MPI_Info info;
  MPI_Group all, others;
  begin(&argc, &argv, MPI_THREAD_SINGLE);
  const unsigned first = argc > 1 ? (unsigned)atoi(argv[1]) : 1, seeds = argc > 2 ? (unsigned)atoi(argv[2]) : 3;
  MPI_Info_create(&info);
  MPI_Info_set(info, "grapnel", "off");
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_excl(all, 1, &me, &others);
  make_types();
  for (unsigned seed = first; seed < first + seeds; ++seed) {
    for (int flavor = 0; flavor < kFlavors; ++flavor) {
      common = seed * 31 + (unsigned)flavor;
      state = seed * 7919 + (unsigned)(flavor * kMostRanks + me) * 104729;
      make(&sides[kTaken], flavor, created[kTaken], MPI_INFO_NULL);
      make(&sides[kHosts], flavor, created[kHosts], info);
      for (int epoch = 0; epoch < kEpochs && one_epoch(seed, flavor, epoch, others); ++epoch) continue;
      for (int i = 0; i < kSides; ++i) end(&sides[i], flavor);
    }
  }
  for (int i = kFirstDerived; i < kTypes; ++i) MPI_Type_free(&types[i].type);
  MPI_Group_free(&all);
  MPI_Group_free(&others);
  MPI_Info_free(&info);
  return finish();
}
