/* SPDX-License-Identifier: Apache-2.0 */
/* Groups: overlapping, in an order of their own, nested; their memory, their messages, their communicator. */
#include <unistd.h>

#include "support.h"

static void list(int* to, int count, int first, int step) {
  for (int i = 0; i < count; ++i) to[i] = first + i * step;
}

static void memory_of(ARMCI_Group* group, const int* members, int size) {
  void* base[64];
  int mine;
  CHECK_EQUAL(ARMCI_Group_rank(group, &mine), 0);
  CHECK_EQUAL(members[mine], me);
  CHECK_EQUAL(ARMCI_Malloc_group(base, 256, group), 0);
  const int to = (mine + 1) % size, from = (mine + size - 1) % size;
  CHECK_EQUAL(ARMCI_Absolute_id(group, to), members[to]);
  CHECK_EQUAL(ARMCI_PutValueInt(10 + me, base[to], members[to]), 0); /* the rank of the world */
  ARMCI_GroupFence(group);
  armci_msg_group_barrier(group);
  CHECK_EQUAL(*(int*)base[mine], 10 + members[from]);
  armci_msg_group_barrier(group);
  CHECK_EQUAL(ARMCI_Free_group(base[mine], group), 0);
  CHECK(ARMCI_Free_group(base[mine], group) != 0);
}

static void messages_of(ARMCI_Group* group, const int* members, int size) {
  long sum = me, wanted = 0;
  for (int i = 0; i < size; ++i) wanted += members[i];
  armci_msg_group_lgop(&sum, 1, "+", group);
  CHECK_EQUAL(sum, wanted);
  int least = me;
  long long product = 2;
  float single = 1.5F;
  double largest = me;
  armci_msg_group_igop(&least, 1, "min", group);
  armci_msg_group_llgop(&product, 1, "*", group);
  armci_msg_group_fgop(&single, 1, "+", group);
  armci_msg_group_dgop(&largest, 1, "max", group);
  for (int i = 0; i < size; ++i) CHECK(least <= members[i] && largest >= members[i]);
  CHECK_EQUAL(product, 1LL << size);
  CHECK_NEAR(single, 1.5F * (float)size);
  int last = me;
  armci_msg_group_bcast_scope(SCOPE_ALL, &last, sizeof last, members[size - 1], group);
  CHECK_EQUAL(last, members[size - 1]);
  double most = me;
  armci_msg_group_gop_scope(SCOPE_NODE, &most, 1, "max", ARMCI_DOUBLE, group);
  CHECK(most >= me && ARMCI_Same_node((int)most));
  void* addresses[64] = {0};
  int mine;
  ARMCI_Group_rank(group, &mine);
  addresses[mine] = &addresses[me];
  armci_exchange_address_grp(addresses, size, group);
  for (int i = 0; i < size; ++i) CHECK(addresses[i] != NULL);
  int of_comm, value = me;
  MPI_Comm_rank(armci_group_comm(group), &of_comm);
  CHECK_EQUAL(of_comm, mine);
  CHECK(group->comm == armci_group_comm(group));
  armci_grp_clus_brdcst(&value, sizeof value, 0, size, group);
  CHECK_EQUAL(value, members[0]);
}

/* Roots are ranks of the world. In a node the root is its first member; among the masters any of these. */
static void broadcasts_of(ARMCI_Group* group, const int* members, int size) {
  int mine_of_node = -1, value = me;
  for (int i = size - 1; i >= 0; --i) {
    if (ARMCI_Same_node(members[i])) mine_of_node = members[i];
  }
  armci_msg_group_bcast_scope(SCOPE_NODE, &value, sizeof value, mine_of_node, group);
  CHECK_EQUAL(value, mine_of_node);
  value = me;
  armci_msg_group_bcast_scope(SCOPE_MASTERS, &value, sizeof value, members[0], group);
  CHECK_EQUAL(value, me == mine_of_node ? members[0] : me);
  for (int root = 0; root < size; ++root) {
    value = me;
    armci_msg_group_bcast_scope(SCOPE_ALL, &value, sizeof value, members[root], group);
    CHECK_EQUAL(value, members[root]);
  }
}

/* Nobody leaves before all have come: each says that it is there just before, and one is late. */
static void barriers_of(ARMCI_Group* group, const int* members, int size) {
  void* base[64];
  int mine;
  ARMCI_Group_rank(group, &mine);
  CHECK_EQUAL(ARMCI_Malloc_group(base, 64 * (long)sizeof(int), group), 0);
  for (int turn = 1; turn <= 6; ++turn) {
    if (turn % size == mine) usleep(3000);
    for (int i = 0; i < size; ++i) {
      CHECK_EQUAL(ARMCI_PutValueInt(turn, (int*)base[i] + mine, members[i]), 0);
    }
    ARMCI_GroupFence(group);
    armci_msg_group_barrier(group);
    for (int i = 0; i < size; ++i) CHECK_EQUAL(((int*)base[mine])[i], turn);
    armci_msg_group_barrier(group);
  }
  CHECK_EQUAL(ARMCI_Free_group(base[mine], group), 0);
}

/* Two groups of the same ranks, one of which goes: the other's barriers go on. */
static void same_ranks_twice(void) {
  ARMCI_Group first, second;
  int members[64];
  list(members, ranks, 0, 1);
  ARMCI_Group_create(ranks, members, &first);
  list(members, ranks, ranks - 1, -1);
  ARMCI_Group_create(ranks, members, &second);
  for (int turn = 0; turn < 5; ++turn) {
    armci_msg_group_barrier(&first);
    armci_msg_group_barrier(&second);
  }
  ARMCI_Group_free(&first);
  barriers_of(&second, members, ranks);
  ARMCI_Group_free(&second);
}

static void use(int count, int* members) {
  ARMCI_Group group, copy;
  int size, inside = 0, mine;
  ARMCI_Group_create(count, members, &group);
  copy = group;
  ARMCI_Group_size(&copy, &size);
  CHECK_EQUAL(size, count);
  for (int i = 0; i < count; ++i) inside = inside || members[i] == me;
  if (inside) {
    memory_of(&copy, members, count);
    messages_of(&group, members, count);
    broadcasts_of(&group, members, count);
    barriers_of(&group, members, count);
  } else {
    CHECK(ARMCI_Group_rank(&group, &mine) != 0);
    CHECK_EQUAL(mine, -1);
    CHECK(ARMCI_Malloc_group(NULL, 1, &group) != 0);
  }
  ARMCI_Group_free(&group);
  CHECK(ARMCI_Group_rank(&copy, &mine) != 0); /* freed for its copies too */
}

static void nested(void) {
  ARMCI_Group outer, inner, kept;
  int members[64], size;
  const int count = (ranks + 1) / 2;
  list(members, count, 0, 2);
  ARMCI_Group_create(count, members, &outer);
  if (me % 2 == 0) {
    ARMCI_Group_set_default(&outer);
    ARMCI_Group_get_default(&kept);
    ARMCI_Group_size(&kept, &size);
    CHECK_EQUAL(size, count);
    int last[1] = {count - 1};
    ARMCI_Group_create(1, last, &inner); /* ranks of the default group */
    CHECK_EQUAL(ARMCI_Absolute_id(&inner, 0), members[count - 1]);
    ARMCI_Group_free(&inner);
    ARMCI_Group_create_child(1, last, &inner, &outer);
    CHECK_EQUAL(ARMCI_Absolute_id(&inner, 0), members[count - 1]);
    ARMCI_Group_free(&inner);
  }
  ARMCI_Group_free(&outer); /* the default is the world again */
  ARMCI_Group_get_default(&kept);
  ARMCI_Group_size(&kept, &size);
  CHECK_EQUAL(size, ranks);
}

/* Members alone make it, without the others. */
static void by_members_alone(void) {
  ARMCI_Group group;
  int members[64];
  if (me == 0) return;
  list(members, ranks - 1, 1, 1);
  ARMCI_Group_create(ranks - 1, members, &group);
  memory_of(&group, members, ranks - 1);
  ARMCI_Group_free(&group);
}

int main(int argc, char** argv) {
  int members[64];
  start(&argc, &argv);
  list(members, ranks, 0, 1);
  use(ranks, members);
  list(members, ranks, ranks - 1, -1); /* descending */
  use(ranks, members);
  list(members, (ranks + 1) / 2, 0, 2);
  use((ranks + 1) / 2, members);
  list(members, 1, ranks - 1, 1);
  use(1, members);
  nested();
  same_ranks_twice();
  by_members_alone();
  finish();
  return 0;
}
