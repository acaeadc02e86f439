// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <span>

namespace grapnel::bench {

constexpr std::size_t kPageBytes = 4096;

void fail(const Status& status) {
  fmt::print(stderr, "grapnel-bench: an operation failed: {}\n", status.to_string());
  std::exit(1);
}

double sum_of_all(Session& s, std::uint64_t mine) {
  const auto all = s.g.allgather(s.g.world(), std::as_bytes(std::span(&mine, 1)));
  if (!all) fail(all.status());
  double sum = 0;
  for (const Bytes& one : *all) {
    std::uint64_t theirs = 0;
    std::memcpy(&theirs, one.data(), sizeof theirs);
    sum += static_cast<double>(theirs);
  }
  return sum;
}

PageBuffer::PageBuffer(std::size_t bytes) {
  bytes = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, bytes)));
  if (memory_ == nullptr) fail(Status(Code::no_memory, fmt::format("no buffer of {} bytes", bytes)));
  std::memset(memory_.get(), 1, bytes);
}

}  // namespace grapnel::bench
