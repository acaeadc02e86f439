/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that cannot answer an error stop the job with one message. The argument names the mistake; rank 0 makes it, the
 * others wait, so that they end only if the whole job does. */
#include "support.h"

static void make_more(const char* mistake);

static void make(const char* mistake) {
  int value = 0;
  double real = 0;
  ARMCI_Group group, world;
  ARMCI_Group_get_world(&world);
  group = world;
  if (strcmp(mistake, "error") == 0) ARMCI_Error("the program says so", 7);
  if (strcmp(mistake, "error-256") == 0) ARMCI_Error("the program says so", 256);
  if (strcmp(mistake, "abort") == 0) armci_msg_abort(9);
  if (strcmp(mistake, "abort-512") == 0) armci_msg_abort(512);
  if (strcmp(mistake, "fence") == 0) ARMCI_Fence(ranks + 3);
  if (strcmp(mistake, "lock") == 0) ARMCI_Lock(5, 0);
  if (strcmp(mistake, "lock-rank") == 0) ARMCI_Lock(0, -4);
  if (strcmp(mistake, "lock-twice") == 0) {
    ARMCI_Lock(0, 0);
    ARMCI_Lock(0, 0);
  }
  if (strcmp(mistake, "unlock") == 0) ARMCI_Unlock(0, 0);
  if (strcmp(mistake, "value") == 0) ARMCI_GetValueInt(&value, 0);
  if (strcmp(mistake, "group-rank") == 0) {
    int far[] = {ranks};
    ARMCI_Group_create(1, far, &group);
  }
  if (strcmp(mistake, "group-twice") == 0) {
    int twice[] = {0, 0};
    ARMCI_Group_create(2, twice, &group);
  }
  if (strcmp(mistake, "group-freed") == 0) {
    int alone[] = {0};
    ARMCI_Group_create(1, alone, &group);
    ARMCI_Group_free(&group);
    ARMCI_Group_free(&group);
  }
  if (strcmp(mistake, "group-world") == 0) ARMCI_Group_free(&world);
  if (strcmp(mistake, "absolute") == 0) ARMCI_Absolute_id(&world, ranks);
  if (strcmp(mistake, "domain") == 0) armci_domain_count(3);
  if (strcmp(mistake, "domain-id") == 0) armci_domain_nprocs(ARMCI_DOMAIN_SMP, 1000);
  if (strcmp(mistake, "send") == 0) armci_msg_snd(1, &value, 4, ranks);
  if (strcmp(mistake, "broadcast") == 0) armci_msg_bcast(&value, -4, 0);
  if (strcmp(mistake, "scope") == 0) armci_msg_gop_scope(1, &value, 1, "+", ARMCI_INT);
  if (strcmp(mistake, "operation") == 0) armci_msg_igop(&value, 1, "sum");
  if (strcmp(mistake, "logical") == 0) armci_msg_dgop(&real, 1, "||");
  if (strcmp(mistake, "type") == 0) armci_msg_gop_scope(SCOPE_ALL, &value, 1, "+", 5);
  if (strcmp(mistake, "memctl") == 0) {
    armci_meminfo_t info;
    ARMCI_Memget(64, &info, 0);
    ARMCI_Memctl(&info);
    ARMCI_Memctl(&info);
  }
  if (strcmp(mistake, "levels") == 0) {
    stride_info_t info;
    armci_stride_info_init(&info, &value, 9, &value, &value);
  }
  if (strcmp(mistake, "after") == 0) {
    ARMCI_Finalize();
    ARMCI_AllFence();
  }
  make_more(mistake);
}

#define MISTAKE(name, call) \
  if (strcmp(mistake, name) == 0) call

/* Those of one call. */
static void make_more(const char* mistake) {
  int value = 0, one[] = {0}, two[] = {4, 1}, many[] = {1, 65536, 65536};
  char buffer[8];
  stride_info_t walk;
  double real = 0;
  ARMCI_Group world, group, none = {MPI_COMM_NULL, 77, 1};
  armci_meminfo_t info;
  ARMCI_Group_get_world(&world);
  ARMCI_Memget(64, &info, 0);
  MISTAKE("fence-negative", ARMCI_Fence(-1));
  MISTAKE("fence-group", ARMCI_GroupFence(&none));
  MISTAKE("no-mutexes", ARMCI_Lock(0, 0));
  MISTAKE("unlock-index", ARMCI_Unlock(-1, 0));
  MISTAKE("unlock-rank", ARMCI_Unlock(0, ranks));
  MISTAKE("value-rank", ARMCI_GetValueDouble(&real, -1));
  MISTAKE("handle", ARMCI_INIT_HANDLE(NULL));
  MISTAKE("aggregate", ARMCI_SET_AGGREGATE_HANDLE(NULL));
  MISTAKE("group-null", ARMCI_Group_create(1, one, NULL));
  MISTAKE("group-count", ARMCI_Group_create(-1, one, &group));
  MISTAKE("group-parent", ARMCI_Group_create_child(1, one, &group, NULL));
  MISTAKE("group-size", ARMCI_Group_size(&none, &value));
  MISTAKE("group-default", ARMCI_Group_set_default(&none));
  MISTAKE("group-comm", armci_group_comm(&none));
  MISTAKE("group-barrier", armci_msg_group_barrier(&none));
  MISTAKE("group-root", armci_msg_group_bcast_scope(SCOPE_ALL, &value, 4, ranks, &world));
  MISTAKE("domain-rank", armci_domain_id(ARMCI_DOMAIN_SMP, -1));
  MISTAKE("domain-same", armci_domain_same_id(ARMCI_DOMAIN_SMP, ranks));
  MISTAKE("same-node", ARMCI_Same_node(-1));
  MISTAKE("same-cluster", armci_sameclusnode(ranks));
  MISTAKE("uses-shm-null", ARMCI_Uses_shm_grp(NULL));
  MISTAKE("uses-shm", ARMCI_Uses_shm_grp(&none));
  MISTAKE("domain-local", armci_domain_glob_proc_id(ARMCI_DOMAIN_SMP, 0, 50));
  MISTAKE("memat", ARMCI_Memat(&info, 65));
  MISTAKE("copy", ARMCI_Copy(&value, one, -1));
  MISTAKE("receive", armci_msg_rcv(1, &value, 4, NULL, ranks));
  MISTAKE("send-tag", armci_msg_snd(-4, &value, 4, 0));
  MISTAKE("receive-tag", armci_msg_rcv(-4, &value, 4, NULL, 1));
  MISTAKE("send-bytes", armci_msg_snd(1, &value, -4, 0));
  MISTAKE("select", armci_msg_sel(&real, sizeof real, "sum", ARMCI_DOUBLE, 1));
  MISTAKE("select-bytes", armci_msg_sel(&real, 2, "max", ARMCI_DOUBLE, 1));
  MISTAKE("reduce", armci_msg_reduce(&value, -1, "+", ARMCI_INT));
  MISTAKE("init-rows", armci_stride_info_init(&walk, &value, 2, two, many));
  MISTAKE("walk-null", armci_stride_info_next(NULL));
  MISTAKE("init-stride", armci_stride_info_init(&walk, &value, 1, NULL, two));
  MISTAKE("init-counts", armci_stride_info_init(&walk, &value, 0, NULL, NULL));
  MISTAKE("init-info", armci_stride_info_init(NULL, &value, 1, one, two));
  MISTAKE("write-stride", armci_write_strided(&value, 1, NULL, two, buffer));
  MISTAKE("read-counts", armci_read_strided(&value, 1, one, NULL, buffer));
}

static void send_more_than_there_is_room(void) {
  char much[100] = {0};
  if (armci_msg_me() == 1) armci_msg_snd(1, much, sizeof much, 0);
  if (armci_msg_me() == 0) armci_msg_rcv(1, much, 2, NULL, 1);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (strcmp(argv[1], "before") == 0) ARMCI_Barrier();
  if (strcmp(argv[1], "before-mpi") == 0) armci_msg_me();
  if (strcmp(argv[1], "room-early") == 0) {
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* the program's choice; the call stops all the same */
    send_more_than_there_is_room();
  }
  start(&argc, &argv);
  if (strcmp(argv[1], "room") == 0) send_more_than_there_is_room();
  if (strcmp(argv[1], "no-mutexes") != 0) ARMCI_Create_mutexes(1);
  armci_msg_barrier();
  if (me == 0) make(argv[1]);
  if (strcmp(argv[1], "after") == 0) ARMCI_Finalize();
  armci_msg_barrier();
  finish(); /* not reached */
  return 0;
}
