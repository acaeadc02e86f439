/* What the network takes for one trip: datagrams between two processes, through plain sockets. Nothing of Grapnel.
   SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_LIMITS_PING_PONG_H
#define BENCH_LIMITS_PING_PONG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An IPv4 address of this host and a port, as the network has them. */
struct limit_address {
  uint32_t host;
  uint16_t port;
};

/* A socket, and where it is reached: the address of this host's name. -1: there is none. */
int limit_ping_open(struct limit_address* mine);
void limit_ping_close(int socket);

/* One side sends `rounds` datagrams of 8 bytes, each after the answer to the one before; the other answers as many.
   -1: nothing came for 5 s. */
int limit_ping(int socket, const struct limit_address* peer, uint64_t rounds);
int limit_pong(int socket, uint64_t rounds);

#ifdef __cplusplus
}
#endif

#endif
