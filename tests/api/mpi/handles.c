/* What a window's handle carries: attributes, callbacks, names, Fortran handles, group, hints, shared_query; many
 * windows, a host's window beside a wait of the library, and windows that are freed in MPI_Finalize.
 *
 * usage: handles [WINDOWS]: how many at once
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

static long* memory;

static void check_predefined(MPI_Win window, int flavor, MPI_Aint bytes, int unit) {
  void* base = NULL;
  MPI_Aint* size = NULL;
  int *disp_unit = NULL, *found_flavor = NULL, *model = NULL, flag = 0;
  MPI_Win_get_attr(window, MPI_WIN_BASE, &base, &flag);
  CHECK(flag && base == (void*)memory);
  MPI_Win_get_attr(window, MPI_WIN_SIZE, &size, &flag);
  CHECK(flag && *size == bytes);
  MPI_Win_get_attr(window, MPI_WIN_DISP_UNIT, &disp_unit, &flag);
  CHECK(flag && *disp_unit == unit);
  MPI_Win_get_attr(window, MPI_WIN_CREATE_FLAVOR, &found_flavor, &flag);
  CHECK(flag && *found_flavor == flavor);
  MPI_Win_get_attr(window, MPI_WIN_MODEL, &model, &flag);
  CHECK(flag && *model == MPI_WIN_UNIFIED);
}

static int deleted;
static int on_delete(MPI_Win window, int keyval, void* value, void* extra) {
  void* base = NULL;
  int flag = 0;
  (void)keyval, (void)extra;
  MPI_Win_get_attr(window, MPI_WIN_BASE, &base, &flag); /* the window is still there */
  if (flag && base == (void*)memory && value == (void*)&deleted) ++deleted;
  return MPI_SUCCESS;
}

static void check_own_attributes(MPI_Win window) {
  int keyval = 0, flag = 0;
  void* value = NULL;
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &keyval, NULL);
  MPI_Win_set_attr(window, keyval, &deleted);
  MPI_Win_get_attr(window, keyval, &value, &flag);
  CHECK(flag && value == (void*)&deleted);
  MPI_Win_free_keyval(&keyval);
}

static void check_names(MPI_Win window) {
  char name[MPI_MAX_OBJECT_NAME];
  int length = 0;
  MPI_Win_set_name(window, "tiles");
  MPI_Win_get_name(window, name, &length);
  CHECK(strcmp(name, "tiles") == 0);
  CHECK(MPI_Win_f2c(MPI_Win_c2f(window)) == window);
}

static void check_group(MPI_Win window, MPI_Comm comm) {
  MPI_Group group, wanted;
  int same = MPI_UNEQUAL;
  MPI_Win_get_group(window, &group);
  MPI_Comm_group(comm, &wanted);
  MPI_Group_compare(group, wanted, &same);
  CHECK_EQUAL(same, MPI_IDENT);
  MPI_Group_free(&group);
  MPI_Group_free(&wanted);
}

static void check_hint(MPI_Info info, const char* key, const char* wanted) {
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int flag = 0;
  MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag);
  CHECK(flag && strcmp(value, wanted) == 0);
}

static void check_hints(MPI_Win window, const char* no_locks) {
  MPI_Info info;
  MPI_Win_get_info(window, &info);
  check_hint(info, "no_locks", no_locks);
  check_hint(info, "accumulate_ordering", "rar,raw,war,waw");
  MPI_Info_free(&info);
  MPI_Info_create(&info);
  MPI_Info_set(info, "accumulate_ordering", "none");
  MPI_Info_set(info, "no such hint", "true");
  MPI_Win_set_info(window, info);
  MPI_Info_free(&info);
  MPI_Win_get_info(window, &info);
  check_hint(info, "accumulate_ordering", "none");
  MPI_Info_free(&info);
}

static void one_window(MPI_Comm comm) {
  MPI_Win window;
  MPI_Info info;
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Info_create(&info);
  MPI_Info_set(info, "no_locks", "true");
  MPI_Win_allocate(4 * rank * (MPI_Aint)sizeof(long), (int)sizeof(long), info, comm, &memory, &window);
  MPI_Info_free(&info);
  check_predefined(window, MPI_WIN_FLAVOR_ALLOCATE, 4 * rank * (MPI_Aint)sizeof(long), sizeof(long));
  check_own_attributes(window);
  check_names(window);
  check_group(window, comm);
  check_hints(window, "true");
  deleted = 0;
  MPI_Win_free(&window);
  CHECK_EQUAL(deleted, 1);
}

/* Parts of several lengths, none among them, follow each other byte by byte. */
static void shared_memory(void) {
  MPI_Win window;
  MPI_Comm node;
  char *base = NULL, *part = NULL, *expected = NULL;
  MPI_Aint size = 0;
  int unit = 0, rank = 0, members = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank);
  MPI_Comm_size(node, &members);
  MPI_Win_allocate_shared(rank == 0 ? 0 : 10 * rank, 1, MPI_INFO_NULL, node, &base, &window);
  for (int other = 0; other < members; ++other) {
    MPI_Win_shared_query(window, other, &size, &unit, &part);
    CHECK_EQUAL(size, 10 * other);
    CHECK_EQUAL(unit, 1);
    if (other == rank && size > 0) CHECK(part == base);
    if (other > 1) CHECK(part == expected);
    expected = part + size;
  }
  MPI_Win_fence(0, window);
  if (rank == 0) {
    MPI_Win_shared_query(window, MPI_PROC_NULL, &size, &unit, &part);
    CHECK_EQUAL(size, members > 1 ? 10 : 0);
    for (int i = 0; i < 5 * members * (members - 1); ++i) part[i] = (char)i;
  }
  MPI_Win_fence(0, window);
  for (int i = 0; i < 10 * rank; ++i) CHECK_EQUAL(base[i], (char)(5 * rank * (rank - 1) + i));
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  MPI_Comm_free(&node);
}

/* An empty part that lies by itself has no address, neither for its owner nor for the others. */
static void shared_memory_apart(void) {
  MPI_Win window;
  MPI_Comm node;
  MPI_Info hints;
  char *base = NULL, *part = NULL;
  MPI_Aint size = 0;
  int unit = 0, rank = 0, members = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank);
  MPI_Comm_size(node, &members);
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "alloc_shared_noncontig", "true");
  MPI_Win_allocate_shared(rank % 2 == 0 ? 16 : 0, 1, hints, node, &base, &window);
  MPI_Info_free(&hints);
  CHECK((base == NULL) == (rank % 2 == 1));
  for (int other = 0; other < members; ++other) {
    MPI_Win_shared_query(window, other, &size, &unit, &part);
    CHECK((size == 0) == (other % 2 == 1));
    CHECK((part == NULL) == (other % 2 == 1));
  }
  MPI_Win_free(&window);
  MPI_Comm_free(&node);
}

/* A wait of the library beside a window of the host: the last rank reaches the first one's memory by the host, which
 * may need the first one's part in it, while that one waits for the last rank in a fence. */
static void host_beside(void) {
  MPI_Win taken, passed;
  MPI_Info hints;
  long *base = NULL, *host_base = NULL, value = 77;
  if (ranks < 2) return; /* some hosts have no window of one rank */
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "grapnel", "off");
  MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &taken);
  MPI_Win_allocate(sizeof(long), sizeof(long), hints, MPI_COMM_WORLD, &host_base, &passed);
  MPI_Info_free(&hints);
  MPI_Win_fence(0, taken);
  if (me == ranks - 1) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, passed);
    MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, passed);
    MPI_Win_unlock(0, passed);
  }
  MPI_Win_fence(0, taken);
  MPI_Win_lock(MPI_LOCK_SHARED, me, 0, passed);
  if (me == 0) CHECK_EQUAL(*host_base, 77);
  MPI_Win_unlock(me, passed);
  MPI_Win_free(&passed);
  MPI_Win_free(&taken);
}

/* All at once, each with a number of its own. */
static void many_windows(int count) {
  MPI_Win* const windows = malloc((size_t)count * sizeof *windows);
  long** const bases = malloc((size_t)count * sizeof *bases);
  const int next = (me + 1) % ranks, last = (me + ranks - 1) % ranks;
  for (int i = 0; i < count; ++i) {
    MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &bases[i], &windows[i]);
  }
  for (int i = 0; i < count; ++i) {
    const long value = 10 * i + me;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, windows[i]);
    MPI_Put(&value, 1, MPI_LONG, next, 0, 1, MPI_LONG, windows[i]);
    MPI_Win_unlock(next, windows[i]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) CHECK_EQUAL(*bases[i], 10 * i + last);
  for (int i = 0; i < count; ++i) MPI_Win_free(&windows[i]);
  free(windows);
  free(bases);
}

static MPI_Win late;
static int free_late(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  return MPI_Win_free(&late);
}

static void free_in_finalize(void) {
  int keyval = 0;
  MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &late);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_late, &keyval, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
}

int main(int argc, char** argv) {
  MPI_Comm some;
  begin(&argc, &argv, MPI_THREAD_SINGLE);
  one_window(MPI_COMM_WORLD);
  one_window(MPI_COMM_SELF);
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &some); /* in the opposite order */
  one_window(some);
  MPI_Comm_free(&some);
  if (getenv("GRAPNEL_NODES") == NULL || atoi(getenv("GRAPNEL_NODES")) < 2) shared_memory();
  shared_memory_apart();
  host_beside();
  many_windows(argc > 1 ? atoi(argv[1]) : 40);
  free_in_finalize();
  return finish();
}
