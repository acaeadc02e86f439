// What a measuring rank has at hand, and what a row is to it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "grapnel/runtime.hpp"
#include "measurement.hpp"
#include "shared_page.hpp"

struct raw_ucx;

namespace grapnel::bench {

struct HeapUse;  // scenarios/dsm_use.hpp
class PlainNode;

struct Effort {
  int pairs = 61;      ///< of a row; rows of nanoseconds take a multiple, since theirs cost nothing
  bool quick = false;  ///< shorter batches
};

/// Rank 0 measures, rank 1 is the target and does what the board asks.
struct Session {
  Runtime& g;
  SharedPage& board;
  Memory memory;
  Effort effort;
  raw_ucx* raw[2] = {};  ///< UCX by itself, numbers 1 and 2 on the board: default segments, large ones; or null
  std::map<LockKind, LockSet> locks = {};  ///< made when a kind is used first, by all ranks at once
  std::shared_ptr<HeapUse> heap_use = {};  ///< of `dsm`; made by its first work
  std::shared_ptr<PlainNode> plain = {};   ///< made when it is used first, by all ranks at once
  std::optional<SharedHeap> heap = {};     ///< the same
  void* heap_block = nullptr;              ///< in it

  static constexpr Rank kTarget{1};
  std::byte* remote() const { return static_cast<std::byte*>(memory.on(kTarget)); }
};

/// One row: its name, and how rank 0 measures it.
struct Task {
  std::string name;
  std::function<Measurement(Session&)> measure;
};

/// Ends the job: a measurement whose operation failed proves nothing.
[[noreturn]] void fail(const Status& status);
inline void must(const Status& status) {
  if (!status.ok()) [[unlikely]]
    fail(status);
}

/// Collective: the sum of each rank's number.
double sum_of_all(Session& s, std::uint64_t mine);

/// Memory at the beginning of a page, filled; the page offset is then the caller's to choose.
class PageBuffer {
 public:
  explicit PageBuffer(std::size_t bytes);
  std::byte* at(std::size_t offset) const { return memory_.get() + offset; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte[], Free> memory_;
};

// The rows of each job: scenarios/*.cpp.
std::vector<Task> same_node_tasks();
std::vector<Task> near_bandwidth_tasks();  ///< blocks of 8 KiB
std::vector<Task> far_bandwidth_tasks();   ///< larger ones
std::vector<Task> two_nodes_tasks();
std::vector<Task> two_nodes_stream_tasks();
std::vector<Task> busy_target_tasks();

}  // namespace grapnel::bench
