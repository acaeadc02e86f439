// SPDX-License-Identifier: Apache-2.0
#include "rma/internal/lent_memory.hpp"

#include <array>

#include "rma/kernels/copy.hpp"

namespace grapnel::rma {
namespace {

/// One system call copies so many: its fixed part, about 1 µs, is then less than a tenth, and to clear the array of
/// runs for each transfer costs some ns.
constexpr std::size_t kRunsOfGroup = 32;
static_assert(kRunsOfGroup <= os::kMostCopyRuns);

// Parts as the runs of process copies, in groups.
template <typename LocalOf, typename Copy>
Status copy_in_groups(std::span<const Part> parts, const LocalOf& local_of, const Copy& copy) {
  std::array<os::CopyRun, kRunsOfGroup> runs;
  while (!parts.empty()) {
    const std::size_t count = std::min(parts.size(), runs.size());
    for (std::size_t i = 0; i < count; ++i) {
      runs[i] = {local_of(parts[i]), reinterpret_cast<std::uintptr_t>(parts[i].remote), parts[i].bytes};
    }
    GRAPNEL_TRY(copy(std::span<const os::CopyRun>(runs.data(), count)));
    parts = parts.subspan(count);
  }
  return {};
}

}  // namespace

Status LentMemory::put(Rank owner, std::span<const Part> parts) const {
  if (owner != in_place_) {
    // The kernel only reads them.
    const auto local = [](const Part& part) { return const_cast<void*>(part.source); };
    return copy_in_groups(parts, local, [&](auto runs) { return lent_.write(owner, runs); });
  }
  for (const Part& part : parts) rma::copy(part.remote, part.source, part.bytes);
  return {};
}

Status LentMemory::get(Rank owner, std::span<const Part> parts) const {
  if (owner != in_place_) {
    const auto local = [](const Part& part) { return part.destination; };
    return copy_in_groups(parts, local, [&](auto runs) { return lent_.read(owner, runs); });
  }
  for (const Part& part : parts) rma::copy(part.destination, part.remote, part.bytes);
  return {};
}

Status LentMemory::update(Rank owner, const Update& update, const Reduction& kernel, std::byte* target,
                          const std::byte* source, std::byte* old_elements, std::size_t bytes) const {
  if (owner == in_place_) {
    update_run(update, kernel, target, source, old_elements, bytes);
    return {};
  }
  alignas(kMostElementBytes) std::array<std::byte, Stripes::kStripeBytes> elements;
  GRAPNEL_ASSERT(bytes <= elements.size(), "a run of {} bytes; a stripe has {}", bytes, elements.size());
  const os::CopyRun run{elements.data(), reinterpret_cast<std::uintptr_t>(target), bytes};
  GRAPNEL_TRY(lent_.read(owner, {&run, 1}));
  update_run(update, kernel, elements.data(), source, old_elements, bytes);
  return update.operation == grapnel::Operation::none ? Status() : lent_.write(owner, {&run, 1});
}

Result<std::uint64_t> LentMemory::compare(Rank owner, std::byte* target, std::size_t bytes, std::uint64_t expected,
                                          std::uint64_t desired) const {
  if (owner == in_place_) return compare_held(target, bytes, expected, desired);
  std::uint64_t found = 0;
  const os::CopyRun run{&found, reinterpret_cast<std::uintptr_t>(target), bytes};
  GRAPNEL_TRY(lent_.read(owner, {&run, 1}));
  const std::uint64_t old_value = compare_held(reinterpret_cast<std::byte*>(&found), bytes, expected, desired);
  if (found != old_value) GRAPNEL_TRY(lent_.write(owner, {&run, 1}));
  return old_value;
}

}  // namespace grapnel::rma
