// Puts and gets of one value, given and answered in registers.
//
// The value has no address of the program's that could wait: an aggregate handle keeps a copy; the other nonblocking
// puts complete before they return.
// SPDX-License-Identifier: Apache-2.0
#include "api/armci/define.hpp"
#include "api/armci/errors.hpp"
#include "api/armci/handles.hpp"

using grapnel::Rank;
using grapnel::Result;
using grapnel::Status;
using namespace grapnel::armci;

namespace grapnel::armci {
namespace {

template <typename Value>
int put_value(const char* call, Value value, void* destination, int proc) {
  return answer(call, [&](Job& job) { return job.rma->put(&value, destination, sizeof value, Rank{proc}); });
}

template <typename Value>
int start_put_value(const char* call, Value value, void* destination, int proc, armci_hdl_t* handle) {
  return answer(call, [&](Job& job) {
    HandleWords words(handle);
    return job.rma->start_value(&value, sizeof value, destination, Rank{proc}, words.core());
  });
}

template <typename Value>
Value get_value(const char* call, void* source, int proc) {
  return value_of(call, [&](Job& job) -> Result<Value> {
    Value value{};
    GRAPNEL_TRY(job.rma->get(source, &value, sizeof value, Rank{proc}));
    return value;
  });
}

}  // namespace
}  // namespace grapnel::armci

#define ARMCI_DEFINE_VALUE(Value, Name)                                                          \
  ARMCI_DEFINE(int, PutValue##Name, (Value value, void* dst, int proc)) {                        \
    return put_value("ARMCI_PutValue" #Name, value, dst, proc);                                  \
  }                                                                                              \
  ARMCI_DEFINE(int, NbPutValue##Name, (Value value, void* dst, int proc, armci_hdl_t* handle)) { \
    return start_put_value("ARMCI_NbPutValue" #Name, value, dst, proc, handle);                  \
  }                                                                                              \
  ARMCI_DEFINE(Value, GetValue##Name, (void* src, int proc)) {                                   \
    return get_value<Value>("ARMCI_GetValue" #Name, src, proc);                                  \
  }

ARMCI_DEFINE_VALUE(int, Int)
ARMCI_DEFINE_VALUE(long, Long)
ARMCI_DEFINE_VALUE(float, Float)
ARMCI_DEFINE_VALUE(double, Double)
