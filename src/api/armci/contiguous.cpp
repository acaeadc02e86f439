// Put, get, accumulate of one row; the inline way of rma where the target is on this node.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "api/armci/define.hpp"
#include "api/armci/elements.hpp"
#include "api/armci/errors.hpp"

using grapnel::Rank;
using grapnel::Status;
using namespace grapnel::armci;

ARMCI_DEFINE(int, Put, (void* src, void* dst, int bytes, int proc)) {
  return answer("ARMCI_Put", [&](Job& job) -> Status {
    if (bytes < 0) [[unlikely]]
      return negative("bytes", bytes);
    return job.rma->put(src, dst, static_cast<std::size_t>(bytes), Rank{proc});
  });
}

ARMCI_DEFINE(int, Get, (void* src, void* dst, int bytes, int proc)) {
  return answer("ARMCI_Get", [&](Job& job) -> Status {
    if (bytes < 0) [[unlikely]]
      return negative("bytes", bytes);
    return job.rma->get(src, dst, static_cast<std::size_t>(bytes), Rank{proc});
  });
}

ARMCI_DEFINE(int, Acc, (int type, void* scale, void* src, void* dst, int bytes, int proc)) {
  return answer("ARMCI_Acc", [&](Job& job) -> Status {
    if (bytes < 0) [[unlikely]]
      return negative("bytes", bytes);
    if (!is_accumulate_type(type)) [[unlikely]]
      return bad_accumulate_type(type);
    return job.rma->accumulate(element_of(type), scale, src, dst, static_cast<std::size_t>(bytes), Rank{proc});
  });
}

ARMCI_DEFINE(int, Put_flag, (void* src, void* dst, int bytes, int* flag, int value, int proc)) {
  return answer("ARMCI_Put_flag", [&](Job& job) -> Status {
    if (bytes < 0) return negative("bytes", bytes);
    return job.runtime->put_and_signal(src, dst, static_cast<std::size_t>(bytes), flag, value, Rank{proc});
  });
}

ARMCI_DEFINE(void, Copy, (void* src, void* dst, int bytes)) {
  if (bytes < 0) stop("ARMCI_Copy", negative("bytes", bytes));
  std::memmove(dst, src, static_cast<std::size_t>(bytes));
}
