// Our copy beside the best of the usual methods, for each pair of offsets. Not a test: it prints a table.
//
//   copy_rate [--bytes N]... [--rounds R] [--quick] [--all] [--minimum]
//
// Per size and pair of offsets: bandwidth of the best other method (and its name), ours, and the ratio; then the worst
// ratio of the size. --all prints every method. Methods are interleaved, each warmed by itself before it is timed,
// and the median of the rounds counts; with --minimum the best one, for a machine that has other work. The destination
// is a shared mapping as a segment is one, the source private memory.
// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "rma/kernels/copy.hpp"

namespace {

using Copy = void (*)(char*, const char*, std::size_t);

#define UNROLLED _Pragma("GCC unroll 8")
#define AVX2 __attribute__((target("avx2"), noinline))
#define AVX512 __attribute__((target("avx512f"), noinline))

void libc_memcpy(char* to, const char* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  asm volatile("" ::: "memory");
}

void rep_movsb(char* to, const char* from, std::size_t bytes) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes)::"memory");
}

// The plain loops: blocks of 128 or 256 bytes, the odd end by memcpy.
AVX2 void avx2_forward(char* to, const char* from, std::size_t bytes) {
  std::size_t at = 0;
  for (; at + 128 <= bytes; at += 128) {
    __m256i v[4];
    UNROLLED for (int i = 0; i < 4; ++i) v[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at) + i);
    UNROLLED for (int i = 0; i < 4; ++i) _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at) + i, v[i]);
  }
  if (at < bytes) std::memcpy(to + at, from + at, bytes - at);
}

AVX2 void avx2_backward(char* to, const char* from, std::size_t bytes) {
  std::size_t at = bytes;
  for (; at >= 128; at -= 128) {
    const char* const f = from + at - 128;
    char* const t = to + at - 128;
    __m256i v[4];
    UNROLLED for (int i = 3; i >= 0; --i) v[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(f) + i);
    UNROLLED for (int i = 3; i >= 0; --i) _mm256_storeu_si256(reinterpret_cast<__m256i*>(t) + i, v[i]);
  }
  if (at > 0) std::memcpy(to, from, at);
}

AVX512 void avx512_forward(char* to, const char* from, std::size_t bytes) {
  std::size_t at = 0;
  for (; at + 256 <= bytes; at += 256) {
    __m512i v[4];
    UNROLLED for (int i = 0; i < 4; ++i) v[i] = _mm512_loadu_si512(from + at + 64 * i);
    UNROLLED for (int i = 0; i < 4; ++i) _mm512_storeu_si512(to + at + 64 * i, v[i]);
  }
  if (at < bytes) std::memcpy(to + at, from + at, bytes - at);
}

AVX512 void avx512_backward(char* to, const char* from, std::size_t bytes) {
  std::size_t at = bytes;
  for (; at >= 256; at -= 256) {
    __m512i v[4];
    UNROLLED for (int i = 3; i >= 0; --i) v[i] = _mm512_loadu_si512(from + at - 256 + 64 * i);
    UNROLLED for (int i = 3; i >= 0; --i) _mm512_storeu_si512(to + at - 256 + 64 * i, v[i]);
  }
  if (at > 0) std::memcpy(to, from, at);
}

AVX2 void avx2_stream(char* to, const char* from, std::size_t bytes) {  // `to` is aligned
  std::size_t at = 0;
  for (; at + 256 <= bytes; at += 256) {
    __m256i v[8];
    UNROLLED for (int i = 0; i < 8; ++i) v[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at) + i);
    UNROLLED for (int i = 0; i < 8; ++i) _mm256_stream_si256(reinterpret_cast<__m256i*>(to + at) + i, v[i]);
  }
  _mm_sfence();
  if (at < bytes) std::memcpy(to + at, from + at, bytes - at);
}

AVX512 void avx512_stream(char* to, const char* from, std::size_t bytes) {  // `to` is aligned
  std::size_t at = 0;
  for (; at + 256 <= bytes; at += 256) {
    __m512i v[4];
    UNROLLED for (int i = 0; i < 4; ++i) v[i] = _mm512_loadu_si512(from + at + 64 * i);
    UNROLLED for (int i = 0; i < 4; ++i) { _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at + 64 * i), v[i]); }
  }
  _mm_sfence();
  if (at < bytes) std::memcpy(to + at, from + at, bytes - at);
}

// First align the destination (from its end for the backward loops), with an overlapping memcpy.
template <Copy copy, std::size_t kAlign>
void head_aligned(char* to, const char* from, std::size_t bytes) {
  const std::size_t head = -reinterpret_cast<std::uintptr_t>(to) % kAlign;
  std::memcpy(to, from, kAlign);
  copy(to + head, from + head, bytes - head);
}

template <Copy copy, std::size_t kAlign>
void end_aligned(char* to, const char* from, std::size_t bytes) {
  std::memcpy(to + bytes - kAlign, from + bytes - kAlign, kAlign);
  copy(to, from, bytes - reinterpret_cast<std::uintptr_t>(to + bytes) % kAlign);
}

__attribute__((noinline)) void ours(char* to, const char* from, std::size_t bytes) {
  grapnel::rma::copy(to, from, bytes);
}

template <int kMethod>
void our_method(char* to, const char* from, std::size_t bytes) {
  grapnel::rma::copy_methods()[kMethod].copy(reinterpret_cast<std::byte*>(to), reinterpret_cast<const std::byte*>(from),
                                             bytes);
}

struct Method {
  const char* name;
  Copy copy;
  bool is_ours = false;
};

std::vector<Method> methods() {
  std::vector<Method> all{
      {"ours", ours, true}, {"sse2", our_method<0>, true}, {"memcpy", libc_memcpy}, {"rep_movsb", rep_movsb}};
  if (__builtin_cpu_supports("avx2")) {
    all.insert(all.end(), {{"avx2", avx2_forward},
                           {"avx2_aligned", head_aligned<avx2_forward, 32>},
                           {"avx2_back", avx2_backward},
                           {"avx2_back_al", end_aligned<avx2_backward, 32>},
                           {"avx2_stream", head_aligned<avx2_stream, 64>}});
  }
  if (__builtin_cpu_supports("avx512f")) {
    all.insert(all.end(), {{"avx512", avx512_forward},
                           {"avx512_aligned", head_aligned<avx512_forward, 64>},
                           {"avx512_back", avx512_backward},
                           {"avx512_back_al", end_aligned<avx512_backward, 64>},
                           {"avx512_stream", head_aligned<avx512_stream, 64>}});
  }
  return all;
}

struct Options {
  std::vector<std::size_t> sizes;
  int rounds = 31;
  bool every_method = false;
  bool quick = false;
  double quantile = 0.5;
};

char* map(std::size_t bytes, bool shared) {
  const int file = shared ? memfd_create("copy_rate", 0) : -1;
  if (shared && ftruncate(file, static_cast<off_t>(bytes)) != 0) std::exit(1);
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, file, 0);
  if (memory == MAP_FAILED) std::exit(1);
  std::memset(memory, 1, bytes);
  return static_cast<char*>(memory);
}

/// Nanoseconds of one copy, from as many as fill about 3 µs. Warmed three times: after a streaming method the
/// destination has to find its way back into the last cache, which is filled only with what the second one drops.
double time_ns(Copy copy, char* to, const char* from, std::size_t bytes) {
  const std::size_t repeats = std::max<std::size_t>(1, 200'000 / (bytes + 64));
  for (int i = 0; i < 3; ++i) copy(to, from, bytes);
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < repeats; ++i) copy(to, from, bytes);
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
  return taken.count() / static_cast<double>(repeats);
}

/// Bytes per nanosecond of each method.
std::vector<double> measure(const std::vector<Method>& all, char* to, const char* from, std::size_t bytes,
                            const Options& options) {
  std::vector<std::vector<double>> times(all.size());
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < all.size(); ++i) times[i].push_back(time_ns(all[i].copy, to, from, bytes));
  }
  std::vector<double> rates;
  for (auto& of_one : times) {
    std::sort(of_one.begin(), of_one.end());
    const auto index = static_cast<std::size_t>(options.quantile * static_cast<double>(of_one.size()));
    rates.push_back(static_cast<double>(bytes) / of_one[index]);
  }
  return rates;
}

double print_row(const std::vector<Method>& all, const std::vector<double>& rates, const Options& options) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].is_ours && (all[best].is_ours || rates[i] > rates[best])) best = i;
  }
  const double ratio = rates[0] / rates[best];
  std::printf("%7.1f %7.1f  %5.2f  %-15s", rates[0], rates[best], ratio, all[best].name);
  for (std::size_t i = 1; options.every_method && i < all.size(); ++i) std::printf(" %s=%.1f", all[i].name, rates[i]);
  std::printf("\n");
  return ratio;
}

void run(std::size_t bytes, const Options& options) {
  const std::vector<Method> all = methods();
  const std::vector<int> offsets =
      options.quick ? std::vector<int>{0, 1, 4095} : std::vector<int>{0, 1, 8, 15, 16, 63, 64, 4095};
  char* const to = map(bytes + 8192, true);
  char* const from = map(bytes + 8192, false);
  std::printf("%zu bytes (GB/s)\n  to/from    ours    best  ratio  best method\n", bytes);
  std::vector<double> ratios;
  for (const int t : offsets) {
    for (const int f : offsets) {
      std::printf("%4d/%-4d ", t, f);
      ratios.push_back(print_row(all, measure(all, to + t, from + f, bytes, options), options));
    }
  }
  std::sort(ratios.begin(), ratios.end());
  std::printf("%zu bytes: worst ratio %.2f, median %.2f\n\n", bytes, ratios.front(), ratios[ratios.size() / 2]);
  munmap(to, bytes + 8192);
  munmap(from, bytes + 8192);
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view option = arguments[i];
    if (option == "--all") options.every_method = true;
    if (option == "--quick") options.quick = true;
    if (option == "--minimum") options.quantile = 0;
    if (option == "--bytes" && i + 1 < count) options.sizes.push_back(std::strtoull(arguments[++i], nullptr, 10));
    if (option == "--rounds" && i + 1 < count) options.rounds = std::atoi(arguments[++i]);
  }
  if (options.sizes.empty()) options.sizes = {8192, 1 << 20, 8 << 20};
  for (const std::size_t bytes : options.sizes) run(bytes, options);
}
