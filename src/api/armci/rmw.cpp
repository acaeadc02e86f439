// Read-modify-write of one word of another rank.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "api/armci/define.hpp"
#include "api/armci/errors.hpp"

using grapnel::Code;
using grapnel::Rank;
using grapnel::Status;
using grapnel::Width;
using grapnel::rma::RmwOperation;
using namespace grapnel::armci;

namespace grapnel::armci {
namespace {

template <typename Word>
constexpr Width kWidthOf = sizeof(Word) == 4 ? Width::bits32 : Width::bits64;

// These three are inline, so that a call leads to the one instruction of its operation: called, with eight arguments
// and the operation to look up, it took 5 ns.
template <typename Word>
[[gnu::always_inline]] inline Status apply(Job& job, RmwOperation operation, Word* old, void* remote, Word operand,
                                           Word expected, int proc) {
  if (old == nullptr) [[unlikely]]
    return null_pointer(operation == RmwOperation::compare_and_swap ? "old" : "ploc");
  const auto before = job.rma->rmw(operation, remote, operand, expected, kWidthOf<Word>, Rank{proc});
  if (!before.ok()) [[unlikely]]
    return before.status();
  *old = static_cast<Word>(*before);
  return {};
}

/// A swap takes its operand from the place where the old value is stored.
template <typename Word>
[[gnu::always_inline]] inline Status swap(Job& job, void* old, void* remote, int proc) {
  auto* const word = static_cast<Word*>(old);
  return apply<Word>(job, RmwOperation::swap, word, remote, word != nullptr ? *word : 0, 0, proc);
}

template <typename Word>
[[gnu::always_inline]] inline Status fetch_and_add(Job& job, void* old, void* remote, Word extra, int proc) {
  return apply<Word>(job, RmwOperation::fetch_and_add, static_cast<Word*>(old), remote, extra, 0, proc);
}

Status bad_operation(int op, const char* possible) {
  return {Code::invalid_argument, fmt::format("op is {}; {} are possible", op, possible)};
}

}  // namespace
}  // namespace grapnel::armci

ARMCI_DEFINE(int, Rmw, (int op, void* ploc, void* prem, int extra, int proc)) {
  return answer("ARMCI_Rmw", [&](Job& job) -> Status {
    switch (op) {
      case ARMCI_FETCH_AND_ADD: return fetch_and_add<int>(job, ploc, prem, extra, proc);
      case ARMCI_FETCH_AND_ADD_LONG: return fetch_and_add<long>(job, ploc, prem, extra, proc);
      case ARMCI_SWAP: return grapnel::armci::swap<int>(job, ploc, prem, proc);
      case ARMCI_SWAP_LONG: return grapnel::armci::swap<long>(job, ploc, prem, proc);
      default: return bad_operation(op, "ARMCI_SWAP, ARMCI_SWAP_LONG, ARMCI_FETCH_AND_ADD, ARMCI_FETCH_AND_ADD_LONG");
    }
  });
}

ARMCI_DEFINE(int, Rmw_long, (int op, long* ploc, void* prem, long extra, int proc)) {
  return answer("ARMCI_Rmw_long", [&](Job& job) -> Status {
    switch (op) {
      case ARMCI_FETCH_AND_ADD_LONG: return fetch_and_add<long>(job, ploc, prem, extra, proc);
      case ARMCI_SWAP_LONG: return grapnel::armci::swap<long>(job, ploc, prem, proc);
      default: return bad_operation(op, "ARMCI_SWAP_LONG and ARMCI_FETCH_AND_ADD_LONG");
    }
  });
}

ARMCI_DEFINE(int, Compare_and_swap_int, (int* old, void* prem, int expected, int desired, int proc)) {
  return answer("ARMCI_Compare_and_swap_int", [&](Job& job) {
    return apply<int>(job, RmwOperation::compare_and_swap, old, prem, desired, expected, proc);
  });
}

ARMCI_DEFINE(int, Compare_and_swap_long, (long* old, void* prem, long expected, long desired, int proc)) {
  return answer("ARMCI_Compare_and_swap_long", [&](Job& job) {
    return apply<long>(job, RmwOperation::compare_and_swap, old, prem, desired, expected, proc);
  });
}
