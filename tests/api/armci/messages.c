/* SPDX-License-Identifier: Apache-2.0 */
/* The message layer: point to point, broadcasts, trees, and every operation of the reductions against a computed
 * result. */
#include <time.h>
#include <unistd.h>

#include "support.h"

static long value_of(int rank, int i) { return (rank * 7 + i * 3) % 11 - 5; }

static long absolute(long x) { return x < 0 ? -x : x; }

static long combine(const char* op, long a, long b) {
  if (strcmp(op, "+") == 0) return a + b;
  if (strcmp(op, "*") == 0) return a * b;
  if (strcmp(op, "min") == 0) return a < b ? a : b;
  if (strcmp(op, "max") == 0) return a > b ? a : b;
  if (strcmp(op, "absmin") == 0) return absolute(a) < absolute(b) ? absolute(a) : absolute(b);
  if (strcmp(op, "absmax") == 0) return absolute(a) > absolute(b) ? absolute(a) : absolute(b);
  if (strcmp(op, "&&") == 0 || strcmp(op, "land") == 0) return a && b;
  if (strcmp(op, "||") == 0 || strcmp(op, "lor") == 0) return a || b;
  if (strcmp(op, "&") == 0 || strcmp(op, "band") == 0) return a & b;
  return a | b;
}

/* What the ranks of a scope (those that `takes_part` says) make of their i-th elements. */
static long wanted(const char* op, int i, int node_only) {
  int found = 0;
  long result = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    if (node_only && !ARMCI_Same_node(rank)) continue;
    result = found++ ? combine(op, result, value_of(rank, i)) : value_of(rank, i);
  }
  return strncmp(op, "abs", 3) == 0 ? absolute(result) : result;
}

enum { kElements = 33 };

#define CHECK_OPERATION(Type, gop, clus_gop, type, operation)                              \
  do {                                                                                     \
    char* const op = operation;                                                            \
    Type x[kElements], y[kElements], z[kElements];                                         \
    for (int at = 0; at < kElements; ++at) x[at] = y[at] = z[at] = (Type)value_of(me, at); \
    gop(x, kElements, op);                                                                 \
    clus_gop(y, kElements, op);                                                            \
    armci_msg_reduce(z, kElements, op, type);                                              \
    for (int at = 0; at < kElements; ++at) {                                               \
      CHECK_SAME(x[at], wanted(op, at, 0), op);                                            \
      CHECK_SAME(y[at], wanted(op, at, 1), op);                                            \
      if (me == 0) CHECK_SAME(z[at], wanted(op, at, 0), op);                               \
    }                                                                                      \
  } while (0)

/* A logical result is right when it is as true as the wanted one. */
#define CHECK_SAME(found, expected, op) \
  CHECK(is_logical(op) ? ((found) != 0) == ((expected) != 0) : (double)(found) == (double)(expected))

static int is_logical(const char* op) { return op[0] == 'l' || strcmp(op, "&&") == 0 || strcmp(op, "||") == 0; }

static void reductions(void) {
  char* every[] = {"+", "*", "min", "max", "absmin", "absmax"};
  char* integers[] = {"&&", "land", "||", "lor", "&", "band", "|", "bor", "or"};
  for (int i = 0; i < 6; ++i) {
    CHECK_OPERATION(int, armci_msg_igop, armci_msg_clus_igop, ARMCI_INT, every[i]);
    CHECK_OPERATION(long, armci_msg_lgop, armci_msg_clus_lgop, ARMCI_LONG, every[i]);
    CHECK_OPERATION(long long, armci_msg_llgop, armci_msg_clus_llgop, ARMCI_LONG_LONG, every[i]);
    CHECK_OPERATION(float, armci_msg_fgop, armci_msg_clus_fgop, ARMCI_FLOAT, every[i]);
    CHECK_OPERATION(double, armci_msg_dgop, armci_msg_clus_dgop, ARMCI_DOUBLE, every[i]);
  }
  for (int i = 0; i < 9; ++i) {
    CHECK_OPERATION(int, armci_msg_igop, armci_msg_clus_igop, ARMCI_INT, integers[i]);
    CHECK_OPERATION(long, armci_msg_lgop, armci_msg_clus_lgop, ARMCI_LONG, integers[i]);
    CHECK_OPERATION(long long, armci_msg_llgop, armci_msg_clus_llgop, ARMCI_LONG_LONG, integers[i]);
  }
  double x = me + 1, sum = 0;
  armci_msg_gop_scope(SCOPE_MASTERS, &x, 1, "+ (as Fortran hands it over)", ARMCI_DOUBLE);
  for (int node = 0; node < armci_domain_count(ARMCI_DOMAIN_SMP); ++node) {
    sum += armci_domain_glob_proc_id(ARMCI_DOMAIN_SMP, node, 0) + 1;
  }
  const int master = armci_domain_glob_proc_id(ARMCI_DOMAIN_SMP, -1, 0);
  CHECK_NEAR(x, me == master ? sum : me + 1.0);
  x = me;
  armci_msg_reduce_scope(SCOPE_NODE, &x, 1, "max", ARMCI_DOUBLE);
  if (me == master) CHECK(x >= me && ARMCI_Same_node((int)x));
}

static void selection(void) {
  struct {
    double key;
    int rank;
  } mine = {(me * 5) % ranks, me}, all = mine, some = mine, none = mine;
  armci_msg_sel_scope(SCOPE_ALL, &all, sizeof all, "max", ARMCI_DOUBLE, 1);
  int best = 0;
  for (int rank = 1; rank < ranks; ++rank) {
    if ((rank * 5) % ranks > (best * 5) % ranks) best = rank;
  }
  CHECK_EQUAL(all.rank, best);
  armci_msg_sel(&some, sizeof some, "min", ARMCI_DOUBLE, me == ranks - 1);
  CHECK_EQUAL(some.rank, ranks - 1);
  armci_msg_sel_scope(SCOPE_NODE, &none, sizeof none, "min", ARMCI_DOUBLE, 0);
  CHECK_EQUAL(none.rank, me);
}

static void point_to_point(void) {
  char text[64];
  int bytes = 0, value = 0;
  if (me > 0) {
    armci_msg_snd(5, &me, sizeof me, 0);
    armci_msg_rcv(6, text, sizeof text, &bytes, 0);
    CHECK_EQUAL(bytes, 5);
    CHECK(strcmp(text, "good") == 0);
    return;
  }
  for (int i = 1; i < ranks; ++i) {
    const int from = armci_msg_rcvany(5, &value, sizeof value, &bytes);
    CHECK_EQUAL(value, from);
    CHECK_EQUAL(bytes, sizeof value);
    armci_msg_snd(6, "good", 5, from);
  }
}

static void broadcasts(void) {
  for (int root = 0; root < ranks; ++root) {
    int a = me, b = me, c = me, d = me;
    armci_msg_bcast(&a, sizeof a, root);
    armci_msg_brdcst(&b, sizeof b, root);
    armci_msg_bcast_scope(SCOPE_ALL, &c, sizeof c, root);
    armci_msg_bcast_scope(SCOPE_MASTERS, &d, sizeof d, root); /* also from one that is no master */
    CHECK_EQUAL(a, root);
    CHECK_EQUAL(b, root);
    CHECK_EQUAL(c, root);
    CHECK_EQUAL(d, me == armci_domain_glob_proc_id(ARMCI_DOMAIN_SMP, -1, 0) ? root : me);
  }
  int d = me;
  armci_msg_clus_brdcst(&d, sizeof d);
  CHECK_EQUAL(d, armci_domain_glob_proc_id(ARMCI_DOMAIN_SMP, -1, 0));
  void* addresses[64] = {0};
  addresses[me] = addresses + me;
  armci_exchange_address(addresses, ranks);
  for (int rank = 0; rank < ranks; ++rank) CHECK(addresses[rank] != NULL);
}

/* A value goes up and down the tree of each scope by messages. */
static void trees(void) {
  const int scopes[] = {SCOPE_ALL, SCOPE_NODE, SCOPE_MASTERS};
  for (int i = 0; i < 3; ++i) {
    int root, up, left, right, sum = 1, part;
    armci_msg_bintree(scopes[i], &root, &up, &left, &right);
    const int master = armci_domain_glob_proc_id(ARMCI_DOMAIN_SMP, -1, 0);
    if (scopes[i] == SCOPE_MASTERS && me != master) {
      CHECK(up == -1 && left == -1 && right == -1);
      continue;
    }
    const int below[] = {left, right};
    for (int side = 0; side < 2; ++side) {
      if (below[side] < 0) continue;
      armci_msg_rcv(9, &part, sizeof part, NULL, below[side]);
      sum += part;
    }
    if (up >= 0) armci_msg_snd(9, &sum, sizeof sum, up);
    if (up < 0) CHECK_EQUAL(me, root);
    const int sizes[] = {ranks, armci_domain_nprocs(ARMCI_DOMAIN_SMP, -1), armci_domain_count(ARMCI_DOMAIN_SMP)};
    if (up < 0) CHECK_EQUAL(sum, sizes[i]);
  }
}

static double seconds_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Rank 0 comes late to a reduction and to a message: who waits for it leaves the processor to others. */
static void waiting_sleeps(void) {
  const double late = 0.4;
  int x = 1, length = 0;
  armci_msg_barrier();
  const double begin = seconds_of(CLOCK_MONOTONIC), used = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  for (int turn = 0; turn < 2; ++turn) {
    if (me == 0) usleep((useconds_t)(1e6 * late));
    if (turn == 0) {
      armci_msg_igop(&x, 1, "+");
    } else if (me == 0) {
      for (int to = 1; to < ranks; ++to) armci_msg_snd(7, &x, sizeof x, to);
    } else {
      armci_msg_rcv(7, &x, sizeof x, &length, 0);
    }
  }
  CHECK_EQUAL(x, ranks);
  CHECK(seconds_of(CLOCK_MONOTONIC) - begin > 1.9 * late || ranks == 1);
  CHECK(seconds_of(CLOCK_THREAD_CPUTIME_ID) - used < 0.35 * late);
}

/* MPI makes communicators by messages of its own. One of the program's that waits meanwhile, whatever its tag, is none
 * of them. */
static void a_message_waits_while_groups_are_made(void) {
  if (ranks < 2) return;
  const int next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
  int received[20];
  for (int tag = 0; tag < 20; ++tag) {
    int sent = 100 * me + tag;
    armci_msg_snd(tag, &sent, sizeof sent, next);
  }
  ARMCI_Barrier();
  int members[64];
  for (int i = 0; i < ranks; ++i) members[i] = i;
  ARMCI_Group group;
  ARMCI_Group_create(ranks, members, &group);
  int sum = 1;
  armci_msg_group_igop(&sum, 1, "+", &group);
  CHECK_EQUAL(sum, ranks);
  sum = 1;
  armci_msg_clus_igop(&sum, 1, "+");
  for (int tag = 0; tag < 20; ++tag) {
    int length = 0;
    received[tag] = -1;
    armci_msg_rcv(tag, &received[tag], sizeof received[tag], &length, before);
    CHECK_EQUAL(length, (int)sizeof received[tag]);
    CHECK_EQUAL(received[tag], 100 * before + tag);
  }
  ARMCI_Group_free(&group);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  CHECK_EQUAL(armci_msg_me(), me);
  CHECK_EQUAL(armci_msg_nproc(), ranks);
  const double before = armci_timer();
  a_message_waits_while_groups_are_made();
  reductions();
  selection();
  point_to_point();
  broadcasts();
  trees();
  waiting_sleeps();
  CHECK(armci_timer() > before);
  finish();
  return 0;
}
