/* SPDX-License-Identifier: Apache-2.0 */
/* Bare active messages of UCX between two processes: the limit for everything that goes between nodes.
 *
 * One process serves: a thread of its own spins on its worker and answers, while `*phase` holds the instance's number;
 * otherwise it sleeps. The other process asks, from the calling thread. Nothing of Grapnel is included here.
 * Threads: every call of one instance from one thread. Any failure prints a line and ends the process. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct raw_ucx;

/* `segment_bytes`: what UCX puts into one TCP segment, 0 for its default. */
struct raw_ucx* raw_ucx_open(size_t segment_bytes);

/* The serving side. `phase` and `awake` are words shared by both processes: the server writes its number to `awake`
 * while it spins, and 0 when it goes to sleep. Wake it with FUTEX_WAKE on `phase`; UINT32_MAX there ends it. */
void raw_ucx_serve(struct raw_ucx* raw, uint32_t number, uint32_t* phase, uint32_t* awake);
size_t raw_ucx_address(struct raw_ucx* raw, void* buffer, size_t capacity);

/* The asking side. */
void raw_ucx_connect(struct raw_ucx* raw, const void* address);
/* A request of 8 bytes and an answer of 8 bytes. */
void raw_ucx_round_trip(struct raw_ucx* raw);
/* `bytes` to the server in messages of `piece` bytes, and one answer when all have come. `eager`: no rendezvous. */
void raw_ucx_send(struct raw_ucx* raw, const void* source, size_t bytes, size_t piece, int eager);
/* The same in the other direction: one request, answered by messages. */
void raw_ucx_fetch(struct raw_ucx* raw, size_t bytes, size_t piece, int eager);

/* Ends the server's thread or closes the connection; the server must be awake while the other side closes. */
void raw_ucx_close(struct raw_ucx* raw);

#ifdef __cplusplus
}
#endif
