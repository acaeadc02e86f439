// What small copies, strided copies and accumulates cost, beside loops written by hand. Not a test: it prints a table.
//
//   kernel_rate [rounds]
//
// Each row: nanoseconds of the hand-written loop and of ours, medians of interleaved rounds.
// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "rma/kernels/accumulate.hpp"
#include "rma/kernels/copy.hpp"
#include "rma/kernels/strided.hpp"

namespace {

using grapnel::ElementType;
using grapnel::Strided;

constexpr std::size_t kRoom = 4 << 20;
alignas(4096) std::byte to_memory[kRoom], from_memory[kRoom];

#define AVX2 __attribute__((target("avx2,fma"), noinline))

template <typename Work>
double time_ns(const Work& work, int repeats) {
  for (int i = 0; i < repeats / 4 + 1; ++i) work();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / repeats;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

template <typename By, typename Ours>
void compare(const char* name, int rounds, int repeats, const By& by_hand, const Ours& ours) {
  std::vector<double> hand_ns, ours_ns;
  for (int i = 0; i < rounds; ++i) {
    hand_ns.push_back(time_ns(by_hand, repeats));
    ours_ns.push_back(time_ns(ours, repeats));
  }
  const double hand = median(hand_ns), own = median(ours_ns);
  std::printf("%-44s %9.2f %9.2f   %5.2f  %+7.2f ns\n", name, hand, own, hand / own, own - hand);
}

inline void barrier() { asm volatile("" ::: "memory"); }

// ---- rows ----

/// Rows of a size that is known when compiling: the best a program could do for itself.
template <std::size_t kRow>
AVX2 void rows_by_hand(std::byte* to, std::size_t to_stride, const std::byte* from, std::size_t from_stride,
                       std::size_t rows) {
  for (std::size_t i = 0; i < rows; ++i) {
    std::byte* const t = to + i * to_stride;
    const std::byte* const f = from + i * from_stride;
    if constexpr (kRow >= 32) {
      for (std::size_t at = 0; at < kRow; at += 32) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(t + at),
                            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(f + at)));
      }
    } else {
      std::memcpy(t, f, kRow);
    }
  }
}

Strided rows_shape(std::int64_t row, std::int64_t rows, std::int64_t stride) {
  Strided shape;
  shape.levels = 1;
  shape.count[0] = row;
  shape.count[1] = rows;
  shape.stride[0] = stride;
  return shape;
}

template <std::size_t kRow>
void compare_rows(int rounds, std::size_t rows, std::size_t stride, std::size_t offset) {
  char name[80];
  const Strided wide = rows_shape(kRow, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(stride));
  const Strided dense = rows_shape(kRow, static_cast<std::int64_t>(rows), kRow);
  std::snprintf(name, sizeof name, "copy_strided %zu x %zu B, stride %zu, +%zu", rows, kRow, stride, offset);
  compare(
      name, rounds, 300, [&] { rows_by_hand<kRow>(to_memory + offset, stride, from_memory, kRow, rows), barrier(); },
      [&] { grapnel::rma::copy_strided(to_memory + offset, wide, from_memory, dense), barrier(); });
  std::snprintf(name, sizeof name, "  the other way");
  const auto gather_by_hand = [&] {
    rows_by_hand<kRow>(to_memory, kRow, from_memory + offset, stride, rows), barrier();
  };
  compare(name, rounds, 300, gather_by_hand,
          [&] { grapnel::rma::copy_strided(to_memory, dense, from_memory + offset, wide), barrier(); });
  std::snprintf(name, sizeof name, "  pack");
  compare(name, rounds, 300, gather_by_hand,
          [&] { grapnel::rma::pack(to_memory, from_memory + offset, wide, 0, kRow * rows), barrier(); });
}

// ---- sums ----

AVX2 void axpy_by_hand(double* to, const double* from, std::size_t elements, double scale) {
  const __m256d factor = _mm256_set1_pd(scale);
  for (std::size_t i = 0; i < elements; i += 16) {
    for (std::size_t k = i; k < i + 16; k += 4) {
      _mm256_storeu_pd(to + k, _mm256_fmadd_pd(factor, _mm256_loadu_pd(from + k), _mm256_loadu_pd(to + k)));
    }
  }
}

__attribute__((target("avx512f"), noinline)) void axpy512_by_hand(double* to, const double* from, std::size_t elements,
                                                                  double scale) {
  const __m512d factor = _mm512_set1_pd(scale);
  for (std::size_t i = 0; i < elements; i += 32) {
    for (std::size_t k = i; k < i + 32; k += 8) {
      _mm512_storeu_pd(to + k, _mm512_fmadd_pd(factor, _mm512_loadu_pd(from + k), _mm512_loadu_pd(to + k)));
    }
  }
}

void compare_accumulate(int rounds, std::size_t bytes, std::size_t to_offset, std::size_t from_offset) {
  auto* const to = reinterpret_cast<double*>(to_memory + to_offset);
  auto* const from = reinterpret_cast<double*>(from_memory + from_offset);
  std::memset(to_memory, 0, bytes + 4096);  // zeros stay zeros: no infinities, no denormals
  std::memset(from_memory, 0, bytes + 4096);
  char name[80];
  for (const double scale : {1.0, 2.5}) {
    const auto ours = [&, scale] {
      grapnel::rma::accumulate(ElementType::float64, to, from, bytes, &scale), barrier();
    };
    std::snprintf(name, sizeof name, "axpy AVX2    %zu B at %zu/%zu, scale %g", bytes, to_offset, from_offset, scale);
    compare(
        name, rounds, 1000, [&, scale] { axpy_by_hand(to, from, bytes / 8, scale), barrier(); }, ours);
    if (!__builtin_cpu_supports("avx512f")) continue;
    std::snprintf(name, sizeof name, "axpy AVX-512 %zu B at %zu/%zu, scale %g", bytes, to_offset, from_offset, scale);
    compare(
        name, rounds, 1000, [&, scale] { axpy512_by_hand(to, from, bytes / 8, scale), barrier(); }, ours);
  }
}

template <std::size_t kBytes>
void compare_small(int rounds) {
  char name[80];
  std::snprintf(name, sizeof name, "copy of %zu B", kBytes);
  volatile std::size_t size = kBytes;
  std::size_t bytes = size;
  compare(
      name, rounds, 5000, [&] { std::memcpy(to_memory, from_memory, kBytes), barrier(); },
      [&] {
        grapnel::rma::copy(to_memory, from_memory, bytes);
        asm volatile("" : "+r"(bytes)::"memory");  // the size stays unknown to the compiler
      });
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 31;
  std::memset(to_memory, 1, kRoom);
  std::memset(from_memory, 1, kRoom);
  std::printf("%-44s %9s %9s   %5s  %s\n", "", "by hand", "ours", "ratio", "difference");
  compare_small<8>(rounds);
  compare_small<4>(rounds);
  compare_small<24>(rounds);
  compare_small<64>(rounds);
  compare_rows<512>(rounds, 64, 512, 0);
  for (const std::size_t offset : {0, 8, 24}) compare_rows<512>(rounds, 64, 8192, offset);
  compare_rows<512>(rounds, 64, 1000, 0);
  compare_rows<8>(rounds, 64, 1024, 0);
  compare_rows<8>(rounds, 512, 24, 0);
  compare_rows<16>(rounds, 64, 1024, 0);
  compare_rows<32>(rounds, 64, 1024, 0);
  compare_rows<64>(rounds, 64, 1024, 0);
  compare_rows<128>(rounds, 64, 1024, 0);
  compare_rows<2048>(rounds, 64, 8192, 8);
  compare_accumulate(rounds, 64, 0, 0);
  compare_accumulate(rounds, 4096, 0, 0);
  compare_accumulate(rounds, 4096, 8, 24);
  compare_accumulate(rounds, 4096, 4, 8);
  compare_accumulate(rounds, 4096, 16, 0);
  compare_accumulate(rounds, 65536, 0, 0);
  compare_accumulate(rounds, 65536, 8, 0);
}
