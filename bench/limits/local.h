/* SPDX-License-Identifier: Apache-2.0 */
/* What the bare machine takes for the operations inside a node: the limits that Grapnel is measured against.
 *
 * Nothing of Grapnel is included here. Functions that run `count` operations are called once per batch, so that a limit
 * pays for no more than its own loop. Threads: any; the methods choose by the processor's features. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `count` times memcpy(destination, source, 8) through a pointer that the compiler cannot see behind. */
void limit_copy_8(void* destination, const void* source, long count);

/* `count` times `lock xadd`; the sum of the old values, so that they are needed. */
int64_t limit_fetch_and_add(int64_t* word, long count);

/* Ways to copy. Null-terminated list of those that this processor can do. */
struct limit_copy {
  const char* name;
  void (*copy)(void* destination, const void* source, size_t bytes);
};
const struct limit_copy* limit_copies(void);

/* Ways to copy `rows` rows; likewise. */
struct limit_rows {
  const char* name;
  void (*copy)(void* destination, size_t destination_stride, const void* source, size_t source_stride, size_t row_bytes,
               size_t rows);
};
const struct limit_rows* limit_row_copies(void);

/* Ways to do y[i] += a·x[i]; likewise. */
struct limit_axpy {
  const char* name;
  void (*axpy)(double* y, const double* x, double a, size_t count);
};
const struct limit_axpy* limit_axpys(void);

#ifdef __cplusplus
}
#endif
