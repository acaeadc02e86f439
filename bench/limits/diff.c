/* SPDX-License-Identifier: Apache-2.0 */
#include "diff.h"

#include <stdint.h>
#include <string.h>

enum { LINES = 64, WORDS = 8 };

static size_t diff_by_words(const void* page, void* twin, void* out) {
  const uint64_t* now = page;
  uint64_t* old = twin;
  uint8_t* const bits = out;
  uint8_t* to = bits + LINES;
  for (int line = 0; line < LINES; ++line, now += WORDS, old += WORDS) {
    bits[line] = 0;
    if (memcmp(now, old, WORDS * sizeof *now) == 0) continue;
    for (int i = 0; i < WORDS; ++i) {
      if (now[i] == old[i]) continue;
      bits[line] |= (uint8_t)(1U << i);
      memcpy(to, &now[i], sizeof *now);
      to += sizeof *now;
      old[i] = now[i];
    }
  }
  return (size_t)(to - bits);
}

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx512f"))) static size_t diff_by_lines(const void* page, void* twin, void* out) {
  const char* now = page;
  char* old = twin;
  uint8_t* const bits = out;
  uint8_t* to = bits + LINES;
  for (int line = 0; line < LINES; ++line, now += 64, old += 64) {
    const __m512i seen = _mm512_loadu_si512(now);
    const __mmask8 changed = _mm512_cmpneq_epi64_mask(seen, _mm512_loadu_si512(old));
    bits[line] = changed;
    if (changed == 0) continue;
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi64(changed, seen));
    to += 8 * (size_t)__builtin_popcount(changed);
    _mm512_storeu_si512(old, seen);
  }
  return (size_t)(to - bits);
}
#endif

limit_diff* limit_best_diff(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return diff_by_lines;
#endif
  return diff_by_words;
}
