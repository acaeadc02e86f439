/* ARMCI: one-sided access to the memory of other processes, for C and C++ programs that use MPI.
 *
 *   MPI_Init(&argc, &argv);                       (or leave it to ARMCI_Init)
 *   ARMCI_Init();
 *   ARMCI_Malloc(base, 4096);                     collective: 4 KiB in every rank; base[r] is where rank r has it
 *   ARMCI_Put(mine, base[1], 8, 1);               returns when `mine` may be reused
 *   ARMCI_Fence(1);                               now it is in rank 1's memory
 *   ARMCI_Finalize();
 *
 * `proc` is a rank of the world, in calls that take a group too. Sizes, counts[0] and strides are bytes. An address of
 * another rank is that rank's own pointer; ranks of one node may dereference it.
 *
 * Order: blocking operations of one rank to the same bytes take effect in program order; nothing else is ordered.
 * Atomic: accumulates against accumulates, per element; ARMCI_Rmw against ARMCI_Rmw, per word.
 * Errors: calls with an int result return 0, or a negative number after one line on stderr; calls without one, and
 * those whose int is an answer (domains, same_node, ranks), stop the job with that line; Malloc_local answers NULL.
 * Nothing is touched by a call whose arguments are refused. Threads: any thread may call, collective calls one at a
 * time; Memget and Memctl count among these. docs/armci.md has the rest.
 *
 * Every ARMCI_X has a twin PARMCI_X, and armci_x a twin parmci_x; the first of each pair is weak, so that a tool may
 * define its own and call the twin. ARMCI_CALL_ declares both.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPNEL_ARMCI_H
#define GRAPNEL_ARMCI_H

#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#define ARMCI_CALL_(result, name, parameters) \
  result ARMCI_##name parameters;             \
  result PARMCI_##name parameters
#define ARMCI_LOWER_CALL_(result, name, parameters) \
  result armci_##name parameters;                   \
  result parmci_##name parameters

/* ---- constants and types ---- */

/* What a call answers when it fails. */
#define FAIL (-1)  /* an argument is wrong */
#define FAIL2 (-2) /* memory was refused */
#define FAIL3 (-3) /* not available here */
#define FAIL4 (-4) /* timed out */
#define FAIL5 (-5) /* a rank, a server or the launcher is gone */
#define FAIL6 (-6) /* the target refused it */
#define FAIL7 (-7) /* the operating system or a library failed */
#define FAIL8 (-8) /* called before ARMCI_Init or after ARMCI_Finalize */

#define ARMCI_SWAP 10
#define ARMCI_SWAP_LONG 11
#define ARMCI_FETCH_AND_ADD 12
#define ARMCI_FETCH_AND_ADD_LONG 13

#define ARMCI_ACC_OFF 36
#define ARMCI_ACC_INT (ARMCI_ACC_OFF + 1)
#define ARMCI_ACC_DBL (ARMCI_ACC_OFF + 2)
#define ARMCI_ACC_FLT (ARMCI_ACC_OFF + 3)
#define ARMCI_ACC_CPL (ARMCI_ACC_OFF + 4)
#define ARMCI_ACC_DCP (ARMCI_ACC_OFF + 5)
#define ARMCI_ACC_LNG (ARMCI_ACC_OFF + 6)
#define ARMCI_ACC_RA (ARMCI_ACC_OFF + 7) /* exclusive or of longs; its scale does not count */

/* Of stride_info_t. The strided calls take up to 16 levels. */
#define ARMCI_MAX_STRIDE_LEVEL 8

#define ARMCI_DOMAIN_SMP 0 /* the domain of a node's ranks */

typedef long armci_size_t;
typedef int armci_domain_t;

/* ptr_array_len pieces of `bytes` each. */
typedef struct {
  void** src_ptr_array;
  void** dst_ptr_array;
  int ptr_array_len;
  int bytes;
} armci_giov_t;

/* The same in ARMCI-MPI's order. For programs that set the members by position in that order: compiled with
 * -DARMCI_GIOV_BYTES_FIRST, armci_giov_t and the vector calls of a source file mean this type and the calls that take
 * it (at the end of this file). Files that were compiled with and without it may stand in one program, as long as they
 * hand each other no armci_giov_t. */
typedef struct {
  void** src_ptr_array;
  void** dst_ptr_array;
  int bytes;
  int ptr_array_len;
} armci_giov_bytes_first_t;

/* Names nonblocking operations. Its words are the library's own; one that was never set counts as new, unless an older
 * one lay in the same place: ARMCI_INIT_HANDLE makes sure. */
typedef struct {
  unsigned int word[4];
} armci_hdl_t;
typedef armci_hdl_t armci_req_t;

/* A set of ranks; copied with =. `comm` is its communicator, MPI_COMM_NULL in ranks outside. */
typedef struct {
  MPI_Comm comm;
  int id;
  unsigned int generation;
} ARMCI_Group;

/* Memory of ARMCI_Memget: send it to another rank, which attaches it. */
typedef struct armci_meminfo_ds {
  char* armci_addr; /* the address for ARMCI calls */
  char* addr;       /* the creator's own */
  size_t size;      /* bytes */
  int cpid;         /* the creator */
  long idlist[128]; /* the library's own */
} armci_meminfo_t;

/* ---- start and stop ---- */

/* Collective; 0 or an error. MPI is started when the program has not done so; then ARMCI_Finalize ends it, also where
 * the start failed. Calls are counted: the last ARMCI_Finalize is the one that ends. Settings are the GRAPNEL_
 * environment variables. */
ARMCI_CALL_(int, Init, (void));
ARMCI_CALL_(int, Init_args, (int* argc, char*** argv));
/* The ranks of `comm` are the world. While ARMCI runs: FAIL unless they are its world already, in the same order. */
ARMCI_CALL_(int, Init_mpi_comm, (MPI_Comm comm));
/* `required` is an MPI_THREAD_ level: with it MPI is started here; FAIL3 where MPI runs already, with less. */
ARMCI_CALL_(int, Init_thread, (int required));
ARMCI_CALL_(int, Init_thread_comm, (int required, MPI_Comm comm));
ARMCI_CALL_(int, Initialized, (void));
/* Collective: all operations of all ranks are complete, everything is released. */
ARMCI_CALL_(int, Finalize, (void));
/* For a program's emergency exit. Nothing needs cleaning: nothing outlives the processes. */
ARMCI_CALL_(void, Cleanup, (void));
/* Prints `msg` and `code`, and ends the job everywhere, with exit code `code`: 1 where its low 8 bits are 0. */
ARMCI_CALL_(void, Error, (const char* msg, int code));

/* ---- memory ---- */

/* Collective: `bytes` (may differ, may be 0) of zeroed memory; pointers[r] is rank r's part, NULL where it has none. */
ARMCI_CALL_(int, Malloc, (void** pointers, armci_size_t bytes));
ARMCI_CALL_(int, Free, (void* pointer)); /* collective: each rank names its own part */
/* The same over a group; pointers[i] belongs to the group's rank i. */
ARMCI_CALL_(int, Malloc_group, (void** pointers, armci_size_t bytes, ARMCI_Group* group));
ARMCI_CALL_(int, Free_group, (void* pointer, ARMCI_Group* group));
/* `device` names a kind of memory. "network": the adapter of the memory's node executes Rmw of 64-bit words there, and
 * accumulates are refused; an error in all ranks where adapters do not (`grapnel info`). All others are one kind. */
ARMCI_CALL_(int, Malloc_memdev, (void** pointers, armci_size_t bytes, const char* device));
ARMCI_CALL_(int, Malloc_group_memdev, (void** pointers, armci_size_t bytes, ARMCI_Group* group, const char* device));
ARMCI_CALL_(int, Free_memdev, (void* pointer));
/* A buffer of one's own, not reachable for others. */
ARMCI_CALL_(void*, Malloc_local, (armci_size_t bytes));
ARMCI_CALL_(int, Free_local, (void* pointer));
/* Memory that others can reach, without a collective call; meminfo->armci_addr is NULL where it was refused, and for
 * 0 bytes. Memat: the address at `offset`. Memctl: the creator gives it back, when nobody uses it any more. */
ARMCI_CALL_(void, Memget, (size_t bytes, armci_meminfo_t* meminfo, int flags));
ARMCI_CALL_(void*, Memat, (armci_meminfo_t * meminfo, long offset));
ARMCI_CALL_(void, Memdt, (armci_meminfo_t * meminfo, long offset));
ARMCI_CALL_(void, Memctl, (armci_meminfo_t * meminfo));
ARMCI_CALL_(void, Set_shm_limit, (unsigned long bytes)); /* the limits here are the machine's: no effect */
ARMCI_CALL_(int, Uses_shm, (void));                      /* 1: ranks of a node reach each other's memory */
ARMCI_CALL_(int, Uses_shm_grp, (ARMCI_Group * group));
ARMCI_CALL_(int, Same_node, (int proc)); /* 1 where proc is on the caller's node */
ARMCI_LOWER_CALL_(int, sameclusnode, (int proc));
/* Around direct access to one's own part: what others wrote before is seen, what is written is seen by later gets. */
ARMCI_CALL_(void, Access_begin, (void* pointer));
ARMCI_CALL_(void, Access_end, (void* pointer));
ARMCI_CALL_(void, Copy, (void* src, void* dst, int bytes));

/* ---- contiguous ---- */

ARMCI_CALL_(int, Put, (void* src, void* dst, int bytes, int proc));
ARMCI_CALL_(int, Get, (void* src, void* dst, int bytes, int proc));
/* dst[i] += *scale * src[i], or dst[i] ^= src[i]; `type` is ARMCI_ACC_..., `scale` one element of it. */
ARMCI_CALL_(int, Acc, (int type, void* scale, void* src, void* dst, int bytes, int proc));
/* Who sees `value` in *flag (a word of proc's) finds the data in place. One message per 64 KiB. */
ARMCI_CALL_(int, Put_flag, (void* src, void* dst, int bytes, int* flag, int value, int proc));

/* ---- strided: counts[0] bytes in a row, counts[i] repetitions at stride[i-1]; levels+1 counts, levels strides ---- */

ARMCI_CALL_(int, PutS, (void* src, int* src_stride, void* dst, int* dst_stride, int* counts, int levels, int proc));
ARMCI_CALL_(int, GetS, (void* src, int* src_stride, void* dst, int* dst_stride, int* counts, int levels, int proc));
ARMCI_CALL_(int, AccS,
            (int type, void* scale, void* src, int* src_stride, void* dst, int* dst_stride, int* counts, int levels,
             int proc));
ARMCI_CALL_(int, PutS_flag,
            (void* src, int* src_stride, void* dst, int* dst_stride, int* counts, int levels, int* flag, int value,
             int proc));
ARMCI_CALL_(int, PutS_flag_dir,
            (void* src, int* src_stride, void* dst, int* dst_stride, int* counts, int levels, int* flag, int value,
             int proc));
/* Packs a strided place into `buffer`, and the other way round. */
ARMCI_LOWER_CALL_(void, write_strided, (void* place, int levels, int* stride, int* counts, char* buffer));
ARMCI_LOWER_CALL_(void, read_strided, (void* place, int levels, int* stride, int* counts, char* buffer));

/* ---- vector ---- */

ARMCI_CALL_(int, PutV, (armci_giov_t * vectors, int length, int proc));
ARMCI_CALL_(int, GetV, (armci_giov_t * vectors, int length, int proc));
ARMCI_CALL_(int, AccV, (int type, void* scale, armci_giov_t* vectors, int length, int proc));
/* The same from the other order of members. */
ARMCI_CALL_(int, PutV_bytes_first, (armci_giov_bytes_first_t * vectors, int length, int proc));
ARMCI_CALL_(int, GetV_bytes_first, (armci_giov_bytes_first_t * vectors, int length, int proc));
ARMCI_CALL_(int, AccV_bytes_first, (int type, void* scale, armci_giov_bytes_first_t* vectors, int length, int proc));

/* ---- values ---- */

ARMCI_CALL_(int, PutValueInt, (int value, void* dst, int proc));
ARMCI_CALL_(int, PutValueLong, (long value, void* dst, int proc));
ARMCI_CALL_(int, PutValueFloat, (float value, void* dst, int proc));
ARMCI_CALL_(int, PutValueDouble, (double value, void* dst, int proc));
ARMCI_CALL_(int, NbPutValueInt, (int value, void* dst, int proc, armci_hdl_t* handle));
ARMCI_CALL_(int, NbPutValueLong, (long value, void* dst, int proc, armci_hdl_t* handle));
ARMCI_CALL_(int, NbPutValueFloat, (float value, void* dst, int proc, armci_hdl_t* handle));
ARMCI_CALL_(int, NbPutValueDouble, (double value, void* dst, int proc, armci_hdl_t* handle));
ARMCI_CALL_(int, GetValueInt, (void* src, int proc)); /* these four stop the job on an error */
ARMCI_CALL_(long, GetValueLong, (void* src, int proc));
ARMCI_CALL_(float, GetValueFloat, (void* src, int proc));
ARMCI_CALL_(double, GetValueDouble, (void* src, int proc));

/* ---- nonblocking: start, then wait; until then the local memory is left alone. handle NULL: implicit ---- */

ARMCI_CALL_(int, NbPut, (void* src, void* dst, int bytes, int proc, armci_hdl_t* handle));
ARMCI_CALL_(int, NbGet, (void* src, void* dst, int bytes, int proc, armci_hdl_t* handle));
ARMCI_CALL_(int, NbAcc, (int type, void* scale, void* src, void* dst, int bytes, int proc, armci_hdl_t* handle));
ARMCI_CALL_(int, NbPutS,
            (void* src, int* src_stride, void* dst, int* dst_stride, int* counts, int levels, int proc,
             armci_hdl_t* handle));
ARMCI_CALL_(int, NbGetS,
            (void* src, int* src_stride, void* dst, int* dst_stride, int* counts, int levels, int proc,
             armci_hdl_t* handle));
ARMCI_CALL_(int, NbAccS,
            (int type, void* scale, void* src, int* src_stride, void* dst, int* dst_stride, int* counts, int levels,
             int proc, armci_hdl_t* handle));
ARMCI_CALL_(int, NbPutV, (armci_giov_t * vectors, int length, int proc, armci_hdl_t* handle));
ARMCI_CALL_(int, NbGetV, (armci_giov_t * vectors, int length, int proc, armci_hdl_t* handle));
ARMCI_CALL_(int, NbAccV, (int type, void* scale, armci_giov_t* vectors, int length, int proc, armci_hdl_t* handle));
ARMCI_CALL_(int, NbPutV_bytes_first, (armci_giov_bytes_first_t * vectors, int length, int proc, armci_hdl_t* handle));
ARMCI_CALL_(int, NbGetV_bytes_first, (armci_giov_bytes_first_t * vectors, int length, int proc, armci_hdl_t* handle));
ARMCI_CALL_(int, NbAccV_bytes_first,
            (int type, void* scale, armci_giov_bytes_first_t* vectors, int length, int proc, armci_hdl_t* handle));
/* Local completion: sources may be reused, gets have their data. Test: 0 when complete, 1 when not yet. */
ARMCI_CALL_(int, Wait, (armci_hdl_t * handle)); /* NULL: as ARMCI_WaitAll */
ARMCI_CALL_(int, Test, (armci_hdl_t * handle));
ARMCI_CALL_(int, WaitProc, (int proc)); /* the implicit ones to proc */
ARMCI_CALL_(int, WaitAll, (void));      /* all implicit ones */
ARMCI_CALL_(void, INIT_HANDLE, (armci_hdl_t * handle));
/* Puts (of values, too) or gets to one rank are gathered, and sent together by ARMCI_Wait or ARMCI_Test. Until then no
 * fence and no barrier covers them; ARMCI_Finalize drops those that nobody waited for, and says in a line how many. */
ARMCI_CALL_(void, SET_AGGREGATE_HANDLE, (armci_hdl_t * handle));
ARMCI_CALL_(void, UNSET_AGGREGATE_HANDLE, (armci_hdl_t * handle));

/* ---- atomics on one word ---- */

/* FETCH_AND_ADD: adds `extra` to *prem, the old value goes to *ploc. SWAP: exchanges *ploc and *prem. The words are
 * int, or long in the _LONG operations. */
ARMCI_CALL_(int, Rmw, (int op, void* ploc, void* prem, int extra, int proc));
/* Beyond ARMCI: 64-bit `extra` (the _LONG operations), and compare-and-swap; *old is what was there. */
ARMCI_CALL_(int, Rmw_long, (int op, long* ploc, void* prem, long extra, int proc));
ARMCI_CALL_(int, Compare_and_swap_int, (int* old, void* prem, int expected, int desired, int proc));
ARMCI_CALL_(int, Compare_and_swap_long, (long* old, void* prem, long expected, long desired, int proc));

/* ---- mutexes: at home in a rank; not re-entrant; Unlock fences the caller's writes to the home's node. A rank holds
 * them, not a thread: a second thread that locks what its rank holds, or waits for, stops the job ---- */

ARMCI_CALL_(int, Create_mutexes, (int count)); /* collective: `count` (may differ) at home in the caller */
ARMCI_CALL_(int, Destroy_mutexes, (void));     /* collective */
ARMCI_CALL_(void, Lock, (int mutex, int proc));
ARMCI_CALL_(void, Unlock, (int mutex, int proc));

/* ---- order ---- */

ARMCI_CALL_(void, Fence, (int proc)); /* the caller's puts and accumulates to proc are complete there */
ARMCI_CALL_(void, AllFence, (void));
ARMCI_CALL_(void, GroupFence, (ARMCI_Group * group));
ARMCI_CALL_(void, Barrier, (void)); /* collective: everybody's AllFence, and everybody has arrived */
/* After as many waits as notifies: all that proc put here before its notify is in place. Results: notifies sent so far;
 * received so far. *count becomes the number of waits. */
ARMCI_LOWER_CALL_(int, notify, (int proc));
ARMCI_LOWER_CALL_(int, notify_wait, (int proc, int* count));

/* ---- groups ---- */

/* The members call it (others may). `ranks` are ranks of the default group, or of `parent`; their order is the new
 * group's. */
ARMCI_CALL_(void, Group_create, (int count, int* ranks, ARMCI_Group* group));
ARMCI_CALL_(void, Group_create_child, (int count, int* ranks, ARMCI_Group* group, ARMCI_Group* parent));
ARMCI_CALL_(void, Group_free, (ARMCI_Group * group));           /* by all that made it; its memory was freed before */
ARMCI_CALL_(int, Group_rank, (ARMCI_Group * group, int* rank)); /* not a member: -1, and an error */
ARMCI_CALL_(void, Group_size, (ARMCI_Group * group, int* size));
ARMCI_CALL_(void, Group_set_default, (ARMCI_Group * group));
ARMCI_CALL_(void, Group_get_default, (ARMCI_Group * group));
ARMCI_CALL_(void, Group_get_world, (ARMCI_Group * group));
ARMCI_CALL_(int, Absolute_id, (ARMCI_Group * group, int group_rank)); /* the rank in the world */
ARMCI_LOWER_CALL_(MPI_Comm, group_comm, (ARMCI_Group * group));

/* ---- where am I: a domain is a node, virtual ones (GRAPNEL_NODES) too ---- */

ARMCI_LOWER_CALL_(int, domain_nprocs, (armci_domain_t domain, int id)); /* id < 0: mine */
ARMCI_LOWER_CALL_(int, domain_id, (armci_domain_t domain, int proc));
ARMCI_LOWER_CALL_(int, domain_glob_proc_id, (armci_domain_t domain, int id, int local_rank));
ARMCI_LOWER_CALL_(int, domain_my_id, (armci_domain_t domain));
ARMCI_LOWER_CALL_(int, domain_count, (armci_domain_t domain));
ARMCI_LOWER_CALL_(int, domain_same_id, (armci_domain_t domain, int proc)); /* 1 where proc is in mine */

/* ---- walking over the rows of a strided place. The guard lets programs that bring this type themselves compile ----
 */

#ifndef _STRIDE_INFO_H_
#define _STRIDE_INFO_H_
typedef struct {
  char* base_ptr;
  int stride_levels;
  int stride_arr[ARMCI_MAX_STRIDE_LEVEL];
  int seg_count[ARMCI_MAX_STRIDE_LEVEL + 1];
  int size, pos, itr[ARMCI_MAX_STRIDE_LEVEL];
} stride_info_t;

ARMCI_LOWER_CALL_(void, stride_info_init,
                  (stride_info_t * info, void* base, int levels, const int* stride, const int* counts));
ARMCI_LOWER_CALL_(void, stride_info_destroy, (stride_info_t * info));
ARMCI_LOWER_CALL_(int, stride_info_size, (stride_info_t * info));  /* rows in all */
ARMCI_LOWER_CALL_(int, stride_info_count, (stride_info_t * info)); /* the same */
ARMCI_LOWER_CALL_(int, stride_info_pos, (stride_info_t * info));   /* rows passed */
ARMCI_LOWER_CALL_(int, stride_info_has_more, (stride_info_t * info));
ARMCI_LOWER_CALL_(void, stride_info_next, (stride_info_t * info));
ARMCI_LOWER_CALL_(void*, stride_info_seg_ptr, (stride_info_t * info)); /* the row at hand */
ARMCI_LOWER_CALL_(int, stride_info_seg_size, (stride_info_t * info));  /* its bytes */
ARMCI_LOWER_CALL_(int, stride_info_seg_off, (stride_info_t * info));   /* its distance from the base */
#endif

#define armci_die(message, code) ARMCI_Error((message), (code))

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#include "message.h"

#undef ARMCI_CALL_
#undef ARMCI_LOWER_CALL_

#ifdef ARMCI_GIOV_BYTES_FIRST
#define armci_giov_t armci_giov_bytes_first_t
#define ARMCI_PutV ARMCI_PutV_bytes_first
#define PARMCI_PutV PARMCI_PutV_bytes_first
#define ARMCI_GetV ARMCI_GetV_bytes_first
#define PARMCI_GetV PARMCI_GetV_bytes_first
#define ARMCI_AccV ARMCI_AccV_bytes_first
#define PARMCI_AccV PARMCI_AccV_bytes_first
#define ARMCI_NbPutV ARMCI_NbPutV_bytes_first
#define PARMCI_NbPutV PARMCI_NbPutV_bytes_first
#define ARMCI_NbGetV ARMCI_NbGetV_bytes_first
#define PARMCI_NbGetV PARMCI_NbGetV_bytes_first
#define ARMCI_NbAccV ARMCI_NbAccV_bytes_first
#define PARMCI_NbAccV PARMCI_NbAccV_bytes_first
#endif

#endif
