/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of bandwidth: every reasonable way to copy a block. The measurement takes the fastest for each size and
 * pair of offsets. */
#include <string.h>

#include "local.h"

static void copy_memcpy(void* destination, const void* source, size_t bytes) { memcpy(destination, source, bytes); }

#if defined(__x86_64__)
#include <immintrin.h>

static void copy_rep_movsb(void* destination, const void* source, size_t bytes) {
  __asm__ volatile("rep movsb" : "+D"(destination), "+S"(source), "+c"(bytes) : : "memory");
}

/* One loop for all vector widths: an unaligned first and last vector, aligned stores between them, four at a time.
 * Needs at least five vectors. STORE is the plain or the non-temporal store. */
#define DEFINE_FORWARD(NAME, TARGET, VECTOR, LOAD, STORE_ANY, STORE, END)                                        \
  __attribute__((target(TARGET))) static void NAME(void* destination, const void* source, size_t bytes) {        \
    enum { WIDTH = sizeof(VECTOR) };                                                                             \
    char* to = destination;                                                                                      \
    const char* from = source;                                                                                   \
    const VECTOR last = LOAD((const void*)(from + bytes - WIDTH));                                               \
    char* const last_to = to + bytes - WIDTH;                                                                    \
    STORE_ANY((void*)to, LOAD((const void*)from));                                                               \
    const size_t head = WIDTH - ((uintptr_t)to & (WIDTH - 1));                                                   \
    to += head, from += head, bytes -= head;                                                                     \
    for (; bytes >= 4 * (size_t)WIDTH; bytes -= 4 * WIDTH, to += 4 * WIDTH, from += 4 * WIDTH) {                 \
      const VECTOR a = LOAD((const void*)from), b = LOAD((const void*)(from + WIDTH));                           \
      const VECTOR c = LOAD((const void*)(from + 2 * WIDTH)), d = LOAD((const void*)(from + 3 * WIDTH));         \
      STORE((void*)to, a), STORE((void*)(to + WIDTH), b);                                                        \
      STORE((void*)(to + 2 * WIDTH), c), STORE((void*)(to + 3 * WIDTH), d);                                      \
    }                                                                                                            \
    for (; bytes > WIDTH; bytes -= WIDTH, to += WIDTH, from += WIDTH) STORE((void*)to, LOAD((const void*)from)); \
    END;                                                                                                         \
    STORE_ANY((void*)last_to, last);                                                                             \
  }

/* From the end: what was stored last does not lie just before what is loaded next, which helps when the two addresses
 * are nearly equal modulo 4096. */
#define DEFINE_BACKWARD(NAME, TARGET, VECTOR, LOAD, STORE_ANY, STORE)                                     \
  __attribute__((target(TARGET))) static void NAME(void* destination, const void* source, size_t bytes) { \
    enum { WIDTH = sizeof(VECTOR) };                                                                      \
    char* to = (char*)destination + bytes;                                                                \
    const char* from = (const char*)source + bytes;                                                       \
    const VECTOR first = LOAD(source);                                                                    \
    STORE_ANY((void*)(to - WIDTH), LOAD((const void*)(from - WIDTH)));                                    \
    const size_t tail = (uintptr_t)to & (WIDTH - 1);                                                      \
    to -= tail, from -= tail, bytes -= tail;                                                              \
    for (; bytes >= 4 * (size_t)WIDTH; bytes -= 4 * WIDTH) {                                              \
      to -= 4 * WIDTH, from -= 4 * WIDTH;                                                                 \
      const VECTOR a = LOAD((const void*)from), b = LOAD((const void*)(from + WIDTH));                    \
      const VECTOR c = LOAD((const void*)(from + 2 * WIDTH)), d = LOAD((const void*)(from + 3 * WIDTH));  \
      STORE((void*)(to + 3 * WIDTH), d), STORE((void*)(to + 2 * WIDTH), c);                               \
      STORE((void*)(to + WIDTH), b), STORE((void*)to, a);                                                 \
    }                                                                                                     \
    for (; bytes > WIDTH; bytes -= WIDTH) {                                                               \
      to -= WIDTH, from -= WIDTH;                                                                         \
      STORE((void*)to, LOAD((const void*)from));                                                          \
    }                                                                                                     \
    STORE_ANY(destination, first);                                                                        \
  }

#define NOTHING ((void)0)
DEFINE_FORWARD(copy_avx, "avx2", __m256i, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_store_si256, NOTHING)
DEFINE_BACKWARD(copy_avx_backward, "avx2", __m256i, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_store_si256)
DEFINE_FORWARD(copy_avx_nontemporal, "avx2", __m256i, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_stream_si256,
               _mm_sfence())
DEFINE_FORWARD(copy_avx512, "avx512f", __m512i, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_store_si512, NOTHING)
DEFINE_FORWARD(copy_avx512_nontemporal, "avx512f", __m512i, _mm512_loadu_si512, _mm512_storeu_si512,
               _mm512_stream_si512, _mm_sfence())

static const struct limit_copy kWithAvx512[] = {{"memcpy", copy_memcpy},
                                                {"rep movsb", copy_rep_movsb},
                                                {"avx", copy_avx},
                                                {"avx backward", copy_avx_backward},
                                                {"avx non-temporal", copy_avx_nontemporal},
                                                {"avx512", copy_avx512},
                                                {"avx512 non-temporal", copy_avx512_nontemporal},
                                                {0, 0}};
static const struct limit_copy kWithAvx[] = {{"memcpy", copy_memcpy},
                                             {"rep movsb", copy_rep_movsb},
                                             {"avx", copy_avx},
                                             {"avx backward", copy_avx_backward},
                                             {"avx non-temporal", copy_avx_nontemporal},
                                             {0, 0}};
#endif

static const struct limit_copy kPortable[] = {{"memcpy", copy_memcpy}, {0, 0}};

const struct limit_copy* limit_copies(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return kWithAvx512;
  if (__builtin_cpu_supports("avx2")) return kWithAvx;
#endif
  return kPortable;
}
