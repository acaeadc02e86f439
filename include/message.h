/* ARMCI's messages between ranks, over MPI: point to point, broadcast, reductions. Part of armci.h.
 *
 * A scope says who takes part: all ranks, those of the caller's node, or the lowest rank of every node (the others
 * return at once). Reductions: n elements of `type` at x, the result in place; op is "+" "*" "min" "max" "absmin"
 * "absmax" for every type, and "&&" "land" "||" "lor" "&" "band" "|" "bor" "or" for integers; only the first letters
 * that tell them apart are read, so a name may be followed by anything.
 * On an error these calls stop the job with a message. Before ARMCI_Init, once MPI runs, those over all ranks work too
 * (but for msg_bintree).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPNEL_ARMCI_H
#include "armci.h" /* which includes this file at its end */
#elif !defined(GRAPNEL_ARMCI_MESSAGE_H)
#define GRAPNEL_ARMCI_MESSAGE_H

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#define ARMCI_INT (-99)
#define ARMCI_LONG (-101)
#define ARMCI_LONG_LONG (-102)
#define ARMCI_FLOAT (-306)
#define ARMCI_DOUBLE (-307)

#define SCOPE_ALL 333
#define SCOPE_NODE 337
#define SCOPE_MASTERS 339

/* ---- who, start, stop ---- */

ARMCI_LOWER_CALL_(int, msg_me, (void));
ARMCI_LOWER_CALL_(int, msg_nproc, (void));
ARMCI_LOWER_CALL_(void, msg_init, (int* argc, char*** argv)); /* starts MPI where it does not run yet */
/* Collective over `comm`, of which the library keeps a duplicate: it becomes the world of every ARMCI_Init and, outside
 * ARMCI_Init and ARMCI_Finalize, of these calls. */
ARMCI_LOWER_CALL_(void, msg_init_comm, (MPI_Comm comm));
ARMCI_LOWER_CALL_(void, msg_finalize, (void)); /* ends MPI, and ARMCI before it */
ARMCI_LOWER_CALL_(void, msg_abort, (int code));
ARMCI_LOWER_CALL_(double, timer, (void)); /* seconds */

/* ---- point to point ---- */

ARMCI_LOWER_CALL_(void, msg_snd, (int tag, void* buffer, int bytes, int to));
ARMCI_LOWER_CALL_(void, msg_rcv, (int tag, void* buffer, int room, int* bytes, int from)); /* `bytes` may be NULL */
ARMCI_LOWER_CALL_(int, msg_rcvany, (int tag, void* buffer, int room, int* bytes));         /* the sender's rank */

/* ---- together ---- */

ARMCI_LOWER_CALL_(void, msg_barrier, (void)); /* a program must not rely on a fence in it, though this one has one */
ARMCI_LOWER_CALL_(void, msg_group_barrier, (ARMCI_Group * group));
/* The caller's place in a binary tree over a scope: ranks, or -1 for none. */
ARMCI_LOWER_CALL_(void, msg_bintree, (int scope, int* root, int* up, int* left, int* right));
ARMCI_LOWER_CALL_(void, msg_bcast, (void* buffer, int bytes, int root));
ARMCI_LOWER_CALL_(void, msg_brdcst, (void* buffer, int bytes, int root));
ARMCI_LOWER_CALL_(void, msg_bcast_scope,
                  (int scope, void* buffer, int bytes,
                   int root)); /* root: a rank of the world, also one that is no master */
ARMCI_LOWER_CALL_(void, msg_clus_brdcst, (void* buffer, int bytes)); /* from the node's lowest rank */
/* root: a rank of the world, here too */
ARMCI_LOWER_CALL_(void, msg_group_bcast_scope, (int scope, void* buffer, int bytes, int root, ARMCI_Group* group));
/* Among the `count` ranks of `group` that begin with `first`, which is the root. */
ARMCI_LOWER_CALL_(void, grp_clus_brdcst, (void* buffer, int bytes, int first, int count, ARMCI_Group* group));
/* Every rank set its own entry of n and left the others 0; afterwards all have all. */
ARMCI_LOWER_CALL_(void, exchange_address, (void** pointers, int n));
ARMCI_LOWER_CALL_(void, exchange_address_grp, (void** pointers, int n, ARMCI_Group* group));

/* ---- reductions ---- */

ARMCI_LOWER_CALL_(void, msg_gop_scope, (int scope, void* x, int n, char* op, int type));
ARMCI_LOWER_CALL_(void, msg_igop, (int* x, int n, char* op));
ARMCI_LOWER_CALL_(void, msg_lgop, (long* x, int n, char* op));
ARMCI_LOWER_CALL_(void, msg_llgop, (long long* x, int n, char* op));
ARMCI_LOWER_CALL_(void, msg_fgop, (float* x, int n, char* op));
ARMCI_LOWER_CALL_(void, msg_dgop, (double* x, int n, char* op));
/* The result in the scope's lowest rank only. */
ARMCI_LOWER_CALL_(void, msg_reduce, (void* x, int n, char* op, int type));
ARMCI_LOWER_CALL_(void, msg_reduce_scope, (int scope, void* x, int n, char* op, int type));
/* Inside the caller's node. */
ARMCI_LOWER_CALL_(void, msg_clus_igop, (int* x, int n, char* op));
ARMCI_LOWER_CALL_(void, msg_clus_lgop, (long* x, int n, char* op));
ARMCI_LOWER_CALL_(void, msg_clus_llgop, (long long* x, int n, char* op));
ARMCI_LOWER_CALL_(void, msg_clus_fgop, (float* x, int n, char* op));
ARMCI_LOWER_CALL_(void, msg_clus_dgop, (double* x, int n, char* op));
ARMCI_LOWER_CALL_(void, msg_group_gop_scope, (int scope, void* x, int n, char* op, int type, ARMCI_Group* group));
ARMCI_LOWER_CALL_(void, msg_group_igop, (int* x, int n, char* op, ARMCI_Group* group));
ARMCI_LOWER_CALL_(void, msg_group_lgop, (long* x, int n, char* op, ARMCI_Group* group));
ARMCI_LOWER_CALL_(void, msg_group_llgop, (long long* x, int n, char* op, ARMCI_Group* group));
ARMCI_LOWER_CALL_(void, msg_group_fgop, (float* x, int n, char* op, ARMCI_Group* group));
ARMCI_LOWER_CALL_(void, msg_group_dgop, (double* x, int n, char* op, ARMCI_Group* group));
/* "min" or "max" of the element of `type` at x among those that contribute; all get that rank's n *bytes*. */
ARMCI_LOWER_CALL_(void, msg_sel_scope, (int scope, void* x, int n, char* op, int type, int contribute));
ARMCI_LOWER_CALL_(void, msg_sel, (void* x, int n, char* op, int type, int contribute));

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
