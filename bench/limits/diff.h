/* SPDX-License-Identifier: Apache-2.0 */
/* What changed in a page of 4 KiB against its twin, bare, by words of 8 bytes. Nothing of Grapnel is included here.
 * Threads: any. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LIMIT_MOST_DIFF_BYTES = 64 + 4096 };

/* Writes a bit per word and the changed words to `out`, which has room for LIMIT_MOST_DIFF_BYTES and 64 bytes more; the
 * twin becomes the page. The length. */
typedef size_t limit_diff(const void* page, void* twin, void* out);

/* The best one that this processor can do. */
limit_diff* limit_best_diff(void);

#ifdef __cplusplus
}
#endif
