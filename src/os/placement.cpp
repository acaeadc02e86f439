// SPDX-License-Identifier: Apache-2.0
#include "os/placement.hpp"

#include <sched.h>

#include <algorithm>

#include "os/identity.hpp"
#include "os/internal/cpu_set.hpp"

namespace grapnel::os {

namespace {

bool move(const std::vector<int>& to, const std::vector<int>& allowed) {
  const internal::CpuSet elsewhere(to);
  const internal::CpuSet everywhere(allowed);
  const bool moved = ::sched_setaffinity(0, elsewhere.bytes(), elsewhere.get()) == 0;
  // Refused only where another set was forced upon the process in between, which then holds.
  (void)::sched_setaffinity(0, everywhere.bytes(), everywhere.get());
  return moved;
}

}  // namespace

bool leave_cpu() {
  const std::vector<int> allowed = cpus_allowed();
  std::vector<int> others = allowed;
  std::erase(others, ::sched_getcpu());
  if (others.empty() || others.size() == allowed.size()) return false;
  return move(others, allowed);
}

bool move_to_cpu(int cpu) {
  const std::vector<int> allowed = cpus_allowed();
  if (std::find(allowed.begin(), allowed.end(), cpu) == allowed.end()) return false;
  return move({cpu}, allowed);
}

}  // namespace grapnel::os
