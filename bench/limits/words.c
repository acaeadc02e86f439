/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of an 8-byte copy and of a fetch-and-add. */
#include <string.h>

#include "local.h"

static void* (*volatile opaque_copy)(void*, const void*, size_t) = memcpy;
static volatile size_t opaque_bytes = 8;

void limit_copy_8(void* destination, const void* source, long count) {
  void* (*const copy)(void*, const void*, size_t) = opaque_copy;
  const size_t bytes = opaque_bytes;
  for (long i = 0; i < count; ++i) copy(destination, source, bytes);
}

int64_t limit_fetch_and_add(int64_t* word, long count) {
  int64_t sum = 0;
  for (long i = 0; i < count; ++i) sum += __atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST);
  return sum;
}
