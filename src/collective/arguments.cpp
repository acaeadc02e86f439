// SPDX-License-Identifier: Apache-2.0
#include "collective/arguments.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <numeric>

#include "collective/node_words.hpp"

namespace grapnel::collective {
namespace {

/// As many addresses as a process has. With fewer, what all members of a group bring has a length that a word holds.
constexpr std::size_t kMostBytes = std::size_t{1} << 47;

}  // namespace

Status check_buffer(const void* buffer, std::size_t bytes, const char* name) {
  if (bytes > kMostBytes) {
    return Status(Code::invalid_argument,
                  fmt::format("{} of {} bytes: no memory is longer than {} bytes; is the length a "
                              "negative number?",
                              name, bytes, kMostBytes));
  }
  if (bytes == 0 || buffer != nullptr) return {};
  return Status(Code::invalid_argument, fmt::format("{} is null, and is to hold {} bytes", name, bytes));
}

Result<std::size_t> check_root(const launch::Group& group, Rank root) {
  const std::size_t place = group.index_of(root);
  if (place < group.size()) return place;
  return Status(Code::invalid_argument,
                fmt::format("root {} is no member of the group of {} ranks", static_cast<int>(root), group.size()));
}

Status check_reduction(const Reduction& reduction, std::size_t count) {
  if (reduction.join == nullptr || reduction.element_bytes == 0 || reduction.element_bytes > kPostBytes) {
    return Status(
        Code::invalid_argument,
        fmt::format("a reduction needs a function and elements of 1 to {} bytes; this one has {} and {} bytes",
                    kPostBytes, reduction.join == nullptr ? "none" : "one", reduction.element_bytes));
  }
  if (count <= SIZE_MAX / reduction.element_bytes) return {};
  return Status(Code::invalid_argument,
                fmt::format("{} elements of {} bytes are more than memory can hold", count, reduction.element_bytes));
}

Status check_pieces(const launch::Group& group, const void* source, std::span<const std::size_t> send_bytes,
                    const void* destination, std::span<const std::size_t> receive_bytes) {
  const std::size_t size = group.size(), me = group.my_index;
  if (send_bytes.size() != size || receive_bytes.size() != size) {
    return Status(Code::invalid_argument, fmt::format("lengths for {} and {} members were given; the group has {}",
                                                      send_bytes.size(), receive_bytes.size(), size));
  }
  if (send_bytes[me] != receive_bytes[me]) {
    return Status(Code::invalid_argument,
                  fmt::format("this rank sends itself {} bytes and expects {}", send_bytes[me], receive_bytes[me]));
  }
  // A sum of lengths that no memory has is no less than that either.
  const auto total = [](std::span<const std::size_t> lengths) {
    return std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}, [](std::size_t sum, std::size_t length) {
      return length > SIZE_MAX - sum ? SIZE_MAX : sum + length;
    });
  };
  GRAPNEL_TRY(check_buffer(source, total(send_bytes), "source"));
  return check_buffer(destination, total(receive_bytes), "destination");
}

}  // namespace grapnel::collective
