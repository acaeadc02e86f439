/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a strided copy and of an accumulate: the best loop that a compiler makes for this processor. */
#include <string.h>

#include "local.h"

static void rows_memcpy(void* destination, size_t destination_stride, const void* source, size_t source_stride,
                        size_t row_bytes, size_t rows) {
  for (size_t row = 0; row < rows; ++row) {
    memcpy((char*)destination + row * destination_stride, (const char*)source + row * source_stride, row_bytes);
  }
}

static void axpy_portable(double* restrict y, const double* restrict x, double a, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] += a * x[i];
}

#if defined(__x86_64__)
#include <immintrin.h>

/* Rows are a multiple of four vectors. */
#define DEFINE_ROWS(NAME, TARGET, VECTOR, LOAD, STORE)                                                               \
  __attribute__((target(TARGET))) static void NAME(void* destination, size_t destination_stride, const void* source, \
                                                   size_t source_stride, size_t row_bytes, size_t rows) {            \
    enum { WIDTH = sizeof(VECTOR) };                                                                                 \
    for (size_t row = 0; row < rows; ++row) {                                                                        \
      char* to = (char*)destination + row * destination_stride;                                                      \
      const char* from = (const char*)source + row * source_stride;                                                  \
      for (size_t i = 0; i < row_bytes; i += 4 * WIDTH) {                                                            \
        const VECTOR a = LOAD((const void*)(from + i)), b = LOAD((const void*)(from + i + WIDTH));                   \
        const VECTOR c = LOAD((const void*)(from + i + 2 * WIDTH)), d = LOAD((const void*)(from + i + 3 * WIDTH));   \
        STORE((void*)(to + i), a), STORE((void*)(to + i + WIDTH), b);                                                \
        STORE((void*)(to + i + 2 * WIDTH), c), STORE((void*)(to + i + 3 * WIDTH), d);                                \
      }                                                                                                              \
    }                                                                                                                \
  }

DEFINE_ROWS(rows_avx, "avx2", __m256i, _mm256_loadu_si256, _mm256_storeu_si256)
DEFINE_ROWS(rows_avx512, "avx512f", __m512i, _mm512_loadu_si512, _mm512_storeu_si512)

/* Counts are a multiple of 4·width. */
#define DEFINE_AXPY(NAME, TARGET, VECTOR, WIDTH, LOAD, STORE, SET, STEP)                                 \
  __attribute__((target(TARGET))) static void NAME(double* y, const double* x, double a, size_t count) { \
    const VECTOR scale = SET(a);                                                                         \
    for (size_t i = 0; i < count; i += 4 * (WIDTH)) {                                                    \
      STORE(y + i, STEP(LOAD(y + i), LOAD(x + i)));                                                      \
      STORE(y + i + (WIDTH), STEP(LOAD(y + i + (WIDTH)), LOAD(x + i + (WIDTH))));                        \
      STORE(y + i + 2 * (WIDTH), STEP(LOAD(y + i + 2 * (WIDTH)), LOAD(x + i + 2 * (WIDTH))));            \
      STORE(y + i + 3 * (WIDTH), STEP(LOAD(y + i + 3 * (WIDTH)), LOAD(x + i + 3 * (WIDTH))));            \
    }                                                                                                    \
  }

#define ADD_AVX(y, x) _mm256_add_pd(y, _mm256_mul_pd(scale, x))
#define ADD_FMA(y, x) _mm256_fmadd_pd(scale, x, y)
#define ADD_AVX512(y, x) _mm512_fmadd_pd(scale, x, y)
DEFINE_AXPY(axpy_avx, "avx2", __m256d, 4, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_set1_pd, ADD_AVX)
DEFINE_AXPY(axpy_fma, "avx2,fma", __m256d, 4, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_set1_pd, ADD_FMA)
DEFINE_AXPY(axpy_avx512, "avx512f", __m512d, 8, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_set1_pd, ADD_AVX512)

static const struct limit_rows kRowsAvx512[] = {
    {"memcpy", rows_memcpy}, {"avx", rows_avx}, {"avx512", rows_avx512}, {0, 0}};
static const struct limit_rows kRowsAvx[] = {{"memcpy", rows_memcpy}, {"avx", rows_avx}, {0, 0}};
static const struct limit_axpy kAxpyAvx512[] = {
    {"portable", axpy_portable}, {"avx", axpy_avx}, {"fma", axpy_fma}, {"avx512", axpy_avx512}, {0, 0}};
static const struct limit_axpy kAxpyAvx[] = {{"portable", axpy_portable}, {"avx", axpy_avx}, {"fma", axpy_fma}, {0, 0}};
#endif

static const struct limit_rows kRowsPortable[] = {{"memcpy", rows_memcpy}, {0, 0}};
static const struct limit_axpy kAxpyPortable[] = {{"portable", axpy_portable}, {0, 0}};

const struct limit_rows* limit_row_copies(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return kRowsAvx512;
  if (__builtin_cpu_supports("avx2")) return kRowsAvx;
#endif
  return kRowsPortable;
}

const struct limit_axpy* limit_axpys(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return kAxpyAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kAxpyAvx;
#endif
  return kAxpyPortable;
}
