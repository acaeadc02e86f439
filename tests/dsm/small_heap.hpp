// What the tests of the shared heap share: a small heap, and its words as 64-bit numbers; and tests that run under each
// protocol.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/units.hpp"
#include "dsm/settings.hpp"
#include "harness/access.hpp"
#include "harness/world.hpp"

namespace grapnel::test {

inline constexpr std::size_t kPage = 4096;

/// What the heaps of this rank are opened with.
struct HeapSettings {
  dsm::ProtocolChoice protocol = dsm::ProtocolChoice::hlrc;
  std::uint64_t record_bytes = 4 * base::kMiB;
};
inline thread_local HeapSettings heap_settings;

/// A heap of 2 MiB, whose memory tests use by offset.
class SmallHeap {
 public:
  explicit SmallHeap(Runtime& g, const SharedHeapOptions& options = {.bytes = 2 << 20, .locks = 16}) : g_(g) {
    auto& settings = g.implementation().config.change<dsm::Settings>();
    settings.protocol = heap_settings.protocol;
    settings.record_bytes = heap_settings.record_bytes;
    auto opened = g.open_shared_heap(options);
    EXPECT_TRUE(opened.ok()) << opened.status().to_string();
    if (opened) heap_ = *std::move(opened);
  }

  SharedHeap& heap() { return heap_; }
  template <typename T = std::uint64_t>
  T get(std::size_t offset) const {
    return heap_.load(at<T>(offset));
  }
  template <typename T = std::uint64_t>
  void set(std::size_t offset, T value) {
    heap_.store(at<T>(offset), value);
  }
  template <typename T = std::uint64_t>
  T* at(std::size_t offset) const {
    return reinterpret_cast<T*>(static_cast<std::byte*>(heap_.base()) + offset);
  }
  void barrier() { EXPECT_OK(heap_.barrier()); }
  void lock(int number) { EXPECT_OK(heap_.lock(number)); }
  void unlock(int number) { EXPECT_OK(heap_.unlock(number)); }
  int me() const { return static_cast<int>(index(g_.rank())); }
  int size() const { return g_.size(); }

 private:
  Runtime& g_;
  SharedHeap heap_;
};

}  // namespace grapnel::test

/// A WORLD_TEST for each protocol: `Suite`, and `SuiteLrc`.
#define HEAP_TEST_ON(Suite, Name, shapes)                                               \
  static void heap_body_##Suite##_##Name(::grapnel::Runtime& g);                        \
  WORLD_TEST_ALONE_ON(Suite, Name, shapes) {                                            \
    ::grapnel::test::heap_settings = {};                                                \
    heap_body_##Suite##_##Name(g);                                                      \
  }                                                                                     \
  WORLD_TEST_ALONE_ON(Suite##Lrc, Name, shapes) {                                       \
    ::grapnel::test::heap_settings = {.protocol = ::grapnel::dsm::ProtocolChoice::lrc}; \
    heap_body_##Suite##_##Name(g);                                                      \
    ::grapnel::test::heap_settings = {};                                                \
  }                                                                                     \
  static void heap_body_##Suite##_##Name([[maybe_unused]] ::grapnel::Runtime& g)
#define HEAP_TEST(Suite, Name) HEAP_TEST_ON(Suite, Name, ::grapnel::test::all_shapes())
