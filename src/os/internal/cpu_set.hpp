// A set of processors of any size; the C library's fixed cpu_set_t ends at 1024.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace grapnel::os::internal {

class CpuSet {
 public:
  /// An empty set with room for the processors 0 … room−1.
  explicit CpuSet(int room) : words_(CPU_ALLOC_SIZE(static_cast<std::size_t>(room)) / sizeof(unsigned long)) {}
  explicit CpuSet(const std::vector<int>& cpus) : CpuSet(*std::max_element(cpus.begin(), cpus.end()) + 1) {
    for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), bytes(), get());
  }

  cpu_set_t* get() { return reinterpret_cast<cpu_set_t*>(words_.data()); }
  const cpu_set_t* get() const { return reinterpret_cast<const cpu_set_t*>(words_.data()); }
  std::size_t bytes() const { return words_.size() * sizeof(unsigned long); }

 private:
  std::vector<unsigned long> words_;
};

}  // namespace grapnel::os::internal
