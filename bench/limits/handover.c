/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "handover.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kLine = 64 };

void limit_bounce(void* page, unsigned rank, unsigned ranks, uint64_t rounds) {
  _Atomic uint64_t* const word = page;
  for (uint64_t round = 0; round < rounds; ++round) {
    const uint64_t mine = round * ranks + rank;
    while (atomic_load_explicit(word, memory_order_acquire) != mine) __builtin_ia32_pause();
    const int last = round + 1 == rounds && rank + 1 == ranks;
    atomic_store_explicit(word, last ? UINT64_MAX : mine + 1, memory_order_release);
  }
  if (rank == 0) {
    while (atomic_load_explicit(word, memory_order_acquire) != UINT64_MAX) __builtin_ia32_pause();
    atomic_store_explicit(word, 0, memory_order_release);
  }
}

/* One word per rank, each in a line of its own: the round that it may begin. */
void limit_wake_around(void* page, unsigned rank, unsigned ranks, uint64_t rounds) {
  char* const words = page;
  _Atomic uint32_t* const mine = (_Atomic uint32_t*)(words + kLine * (1 + rank));
  _Atomic uint32_t* const next = (_Atomic uint32_t*)(words + kLine * (1 + (rank + 1) % ranks));
  if (rank == 0) atomic_store(mine, 1);
  for (uint32_t round = 1; round <= rounds; ++round) {
    for (;;) {
      const uint32_t seen = atomic_load(mine);
      if (seen >= round) break;
      syscall(SYS_futex, mine, FUTEX_WAIT, seen, NULL, NULL, 0);
    }
    atomic_store(next, rank + 1 == ranks ? round + 1 : round);
    syscall(SYS_futex, next, FUTEX_WAKE, 1, NULL, NULL, 0);
  }
  while (rank == 0 && atomic_load(mine) <= rounds) syscall(SYS_futex, mine, FUTEX_WAIT, rounds, NULL, NULL, 0);
  atomic_store(mine, 0);
}
