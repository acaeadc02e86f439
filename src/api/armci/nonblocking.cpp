// Starting contiguous operations, handles, and waiting for them.
//
// An operation joins its handle; one without a handle joins its target's implicit one. Aggregate handles keep puts, or
// gets, to one rank, and ARMCI_Wait or ARMCI_Test sends them together.
// SPDX-License-Identifier: Apache-2.0
#include "api/armci/define.hpp"
#include "api/armci/elements.hpp"
#include "api/armci/errors.hpp"
#include "api/armci/handles.hpp"

using grapnel::Handle;
using grapnel::Rank;
using grapnel::Status;
using grapnel::rma::OperationKind;
using Transfer = grapnel::rma::ContiguousTransfer;
using namespace grapnel::armci;

ARMCI_DEFINE(int, NbPut, (void* src, void* dst, int bytes, int proc, armci_hdl_t* handle)) {
  return answer("ARMCI_NbPut", [&](Job& job) -> Status {
    if (bytes < 0) [[unlikely]]
      return negative("bytes", bytes);
    if (job.rma->put_here(src, dst, static_cast<std::size_t>(bytes), Rank{proc})) return {};
    HandleWords words(handle);
    return job.rma->start(Transfer{OperationKind::put, {}, src, dst, static_cast<std::size_t>(bytes), Rank{proc}},
                          words.core());
  });
}

ARMCI_DEFINE(int, NbGet, (void* src, void* dst, int bytes, int proc, armci_hdl_t* handle)) {
  return answer("ARMCI_NbGet", [&](Job& job) -> Status {
    if (bytes < 0) [[unlikely]]
      return negative("bytes", bytes);
    if (job.rma->get_here(src, dst, static_cast<std::size_t>(bytes), Rank{proc})) return {};
    HandleWords words(handle);
    return job.rma->start(Transfer{OperationKind::get, {}, dst, src, static_cast<std::size_t>(bytes), Rank{proc}},
                          words.core());
  });
}

ARMCI_DEFINE(int, NbAcc, (int type, void* scale, void* src, void* dst, int bytes, int proc, armci_hdl_t* handle)) {
  return answer("ARMCI_NbAcc", [&](Job& job) -> Status {
    if (bytes < 0) return negative("bytes", bytes);
    if (!is_accumulate_type(type)) return bad_accumulate_type(type);
    HandleWords words(handle);
    return job.runtime->start_accumulate(element_of(type), scale, src, dst, static_cast<std::size_t>(bytes), Rank{proc},
                                         words.core());
  });
}

ARMCI_DEFINE(int, Wait, (armci_hdl_t * handle)) {
  return answer("ARMCI_Wait", [&](Job& job) -> Status {
    if (handle == nullptr) return job.runtime->wait_implicit();
    HandleWords words(handle);
    return job.rma->wait(words.value());
  });
}

ARMCI_DEFINE(int, Test, (armci_hdl_t * handle)) {
  bool complete = false;
  const int failed = answer("ARMCI_Test", [&](Job& job) -> Status {
    if (handle == nullptr) return null_pointer("handle");
    HandleWords words(handle);
    const auto tested = job.runtime->test(words.value());
    complete = tested.ok() && *tested;
    return tested.status();
  });
  return failed != 0 || complete ? failed : 1;
}

ARMCI_DEFINE(int, WaitProc, (int proc)) {
  return answer("ARMCI_WaitProc", [&](Job& job) { return job.runtime->wait_implicit(Rank{proc}); });
}

ARMCI_DEFINE(int, WaitAll, (void)) {
  return answer("ARMCI_WaitAll", [](Job& job) { return job.runtime->wait_implicit(); });
}

ARMCI_DEFINE(void, INIT_HANDLE, (armci_hdl_t * handle)) {
  if (handle == nullptr) stop("ARMCI_INIT_HANDLE", null_pointer("handle"));
  HandleWords::reset(handle);
}

ARMCI_DEFINE(void, SET_AGGREGATE_HANDLE, (armci_hdl_t * handle)) {
  if (handle == nullptr) stop("ARMCI_SET_AGGREGATE_HANDLE", null_pointer("handle"));
  HandleWords(handle).value().set_aggregating(true);
}

ARMCI_DEFINE(void, UNSET_AGGREGATE_HANDLE, (armci_hdl_t * handle)) {
  if (handle == nullptr) stop("ARMCI_UNSET_AGGREGATE_HANDLE", null_pointer("handle"));
  HandleWords(handle).value().set_aggregating(false);
}
