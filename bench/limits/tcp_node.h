/* A node that shares its memory through plain TCP sockets: what the DSE paper compares with (DSE-TCP).
 *
 * A thread serves: it sleeps in poll, receives a request by one system call and answers it by another. The program's
 * thread sends a request and receives the answer, each by a system call. The programs of the paper also cross a socket
 * to the server of their own node and back; these connect to all servers themselves, and so take less time.
 * On 127.0.0.1 only. Nothing of Grapnel.
 * Threads: every call of one node from one thread. -1: errno says why.
   SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_LIMITS_TCP_NODE_H
#define BENCH_LIMITS_TCP_NODE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { kTcpNodesMost = 16 };

struct tcp_node;

/* Listens, and shares `bytes` of memory. NULL: errno. */
struct tcp_node* tcp_node_open(uint32_t me, uint32_t nodes, uint32_t bytes, uint16_t* port);
/* Starts to serve, and connects to all nodes, itself among them. `ports` by node; `token` is the same in all: a
   connection that does not present it is closed. */
int tcp_node_connect(struct tcp_node* node, const uint16_t* ports, uint64_t token);
void tcp_node_close(struct tcp_node* node);

/* The shared memory of the caller. */
void* tcp_node_memory(struct tcp_node* node);
/* The first `bytes` of another's: a request and an answer. */
int tcp_node_read(struct tcp_node* node, uint32_t from, void* to, uint32_t bytes);
/* The same of all others, to `to` by node: all requests are sent, then the answers are received. */
int tcp_node_read_all(struct tcp_node* node, void* to, uint32_t bytes);
/* A request to node 0, which answers when all nodes have sent theirs. */
int tcp_node_barrier(struct tcp_node* node);

/* Messages that this node's program sent to other nodes, and the answers to them. */
uint64_t tcp_node_messages(const struct tcp_node* node);

#ifdef __cplusplus
}
#endif

#endif
