// Strided put, get, accumulate, put with a flag; blocking and nonblocking.
//
// One description of a call serves all forms: which way the bytes go, the two sides, and the arithmetic.
// SPDX-License-Identifier: Apache-2.0
#include "api/armci/define.hpp"
#include "api/armci/elements.hpp"
#include "api/armci/errors.hpp"
#include "api/armci/handles.hpp"
#include "api/armci/shapes.hpp"

using grapnel::Rank;
using grapnel::Status;
using grapnel::rma::OperationKind;
using namespace grapnel::armci;

namespace grapnel::armci {
namespace {

struct StridedCall {
  OperationKind kind;
  void* source;
  void* destination;
  StridedArguments shapes;
  int proc;
  int type = ARMCI_ACC_INT;  // of an accumulate, as the next
  const void* scale = nullptr;
};

Status add_arithmetic(const StridedCall& call, rma::StridedTransfer& what) {
  if (!is_accumulate_type(call.type)) return bad_accumulate_type(call.type);
  // Both sides have the caller's one counts[0]; the core validates the shapes themselves.
  const int row_bytes = call.shapes.counts[0];
  if (row_bytes < 0) return negative("counts[0]", row_bytes);
  GRAPNEL_ASSIGN_OR_RETURN(
      const auto how, rma::Rma::arithmetic(element_of(call.type), call.scale, static_cast<std::size_t>(row_bytes)));
  what.arithmetic = how;
  return {};
}

/// Hands the transfer, with its shapes on the stack, to `run`. Inline, so that the call's description stays in
/// registers. `call` was checked, as for the next.
template <typename Run>
[[gnu::always_inline]] inline Status with_transfer(const StridedCall& call, const Run& run) {
  const Shapes shapes(call.shapes);
  const bool from_target = call.kind == OperationKind::get;
  rma::StridedTransfer what;
  what.kind = call.kind;
  what.local = from_target ? call.destination : call.source;
  what.local_shape = from_target ? &shapes.destination() : &shapes.source();
  what.remote = from_target ? call.source : call.destination;
  what.remote_shape = from_target ? &shapes.source() : &shapes.destination();
  what.target = Rank{call.proc};
  if (call.kind == OperationKind::accumulate) GRAPNEL_TRY(add_arithmetic(call, what));
  return run(what);
}

/// A patch of a matrix in reach needs no shapes: they and their validation were two thirds of a small patch's time.
[[gnu::always_inline]] inline bool move_rows(rma::Rma& rma, const StridedCall& call) {
  const StridedArguments& shapes = call.shapes;
  if (shapes.levels != 1 || call.kind == OperationKind::accumulate) return false;
  const bool put = call.kind == OperationKind::put;
  const int source_stride = shapes.source_stride[0], destination_stride = shapes.destination_stride[0];
  const rma::Rows rows{.bytes = shapes.counts[0],
                       .count = shapes.counts[1],
                       .local_stride = put ? source_stride : destination_stride,
                       .remote_stride = put ? destination_stride : source_stride};
  return rma.move_rows(call.kind, put ? call.source : call.destination, put ? call.destination : call.source, rows,
                       Rank{call.proc});
}

[[gnu::always_inline]] inline int transfer(const char* name, const StridedCall& call) {
  return answer(name, [&](Job& job) -> Status {
    GRAPNEL_TRY(call.shapes.check());
    if (move_rows(*job.rma, call)) return {};
    return with_transfer(call, [&](const rma::StridedTransfer& what) { return job.rma->transfer(what); });
  });
}

int start(const char* name, const StridedCall& call, armci_hdl_t* handle) {
  return answer(name, [&](Job& job) -> Status {
    GRAPNEL_TRY(call.shapes.check());
    if (move_rows(*job.rma, call)) return {};
    return with_transfer(call, [&](const rma::StridedTransfer& what) {
      HandleWords words(handle);
      return job.rma->start(what, words.core());
    });
  });
}

int put_and_flag(const char* name, const StridedCall& call, int* flag, int value) {
  return answer(name, [&](Job& job) -> Status {
    GRAPNEL_TRY(call.shapes.check());
    const Shapes shapes(call.shapes);
    return job.runtime->put_and_signal(call.source, shapes.source(), call.destination, shapes.destination(), flag,
                                       value, Rank{call.proc});
  });
}

}  // namespace
}  // namespace grapnel::armci

ARMCI_DEFINE(int, PutS, (void* src, int* src_stride, void* dst, int* dst_stride, int* counts, int levels, int proc)) {
  return transfer("ARMCI_PutS", {OperationKind::put, src, dst, {src_stride, dst_stride, counts, levels}, proc});
}

ARMCI_DEFINE(int, GetS, (void* src, int* src_stride, void* dst, int* dst_stride, int* counts, int levels, int proc)) {
  return transfer("ARMCI_GetS", {OperationKind::get, src, dst, {src_stride, dst_stride, counts, levels}, proc});
}

ARMCI_DEFINE(int, AccS,
             (int type, void* scale, void* src, int* src_stride, void* dst, int* dst_stride, int* counts, int levels,
              int proc)) {
  return transfer("ARMCI_AccS",
                  {OperationKind::accumulate, src, dst, {src_stride, dst_stride, counts, levels}, proc, type, scale});
}

ARMCI_DEFINE(int, NbPutS,
             (void* src, int* src_stride, void* dst, int* dst_stride, int* counts, int levels, int proc,
              armci_hdl_t* handle)) {
  return start("ARMCI_NbPutS", {OperationKind::put, src, dst, {src_stride, dst_stride, counts, levels}, proc}, handle);
}

ARMCI_DEFINE(int, NbGetS,
             (void* src, int* src_stride, void* dst, int* dst_stride, int* counts, int levels, int proc,
              armci_hdl_t* handle)) {
  return start("ARMCI_NbGetS", {OperationKind::get, src, dst, {src_stride, dst_stride, counts, levels}, proc}, handle);
}

ARMCI_DEFINE(int, NbAccS,
             (int type, void* scale, void* src, int* src_stride, void* dst, int* dst_stride, int* counts, int levels,
              int proc, armci_hdl_t* handle)) {
  return start("ARMCI_NbAccS",
               {OperationKind::accumulate, src, dst, {src_stride, dst_stride, counts, levels}, proc, type, scale},
               handle);
}

ARMCI_DEFINE(int, PutS_flag,
             (void* src, int* src_stride, void* dst, int* dst_stride, int* counts, int levels, int* flag, int value,
              int proc)) {
  return put_and_flag("ARMCI_PutS_flag", {OperationKind::put, src, dst, {src_stride, dst_stride, counts, levels}, proc},
                      flag, value);
}

ARMCI_DEFINE(int, PutS_flag_dir,
             (void* src, int* src_stride, void* dst, int* dst_stride, int* counts, int levels, int* flag, int value,
              int proc)) {
  return put_and_flag("ARMCI_PutS_flag_dir",
                      {OperationKind::put, src, dst, {src_stride, dst_stride, counts, levels}, proc}, flag, value);
}
