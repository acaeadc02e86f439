// SPDX-License-Identifier: Apache-2.0
#include "rma/ways.hpp"

namespace grapnel::rma {
namespace {

// What may go native, and from which row length on. Shorter rows are packed: an operation of the fabric costs about as
// much as packing that many bytes. What has no row is sent by messages.
struct Rule {
  OperationKind kind;
  Form form;
  bool from_first_byte;  ///< else from GRAPNEL_NATIVE_ROW_BYTES
};
constexpr Rule kNativeRules[] = {
    {OperationKind::put, Form::contiguous, true},
    {OperationKind::get, Form::contiguous, true},
    {OperationKind::put, Form::strided, false},
    {OperationKind::get, Form::strided, false},
};

const Rule* rule_of(OperationKind kind, Form form) {
  for (const Rule& rule : kNativeRules) {
    if (rule.kind == kind && rule.form == form) return &rule;
  }
  return nullptr;
}

}  // namespace

bool Ways::goes_native(OperationKind kind, Form form, std::size_t row_bytes) const {
  const Rule* rule = native_ ? rule_of(kind, form) : nullptr;
  if (rule == nullptr) return false;
  const bool able = kind == OperationKind::put ? fabric_.native_put : fabric_.native_get;
  return able && (rule->from_first_byte || row_bytes >= settings_.native_row_bytes);
}

WireWay Ways::choose(OperationKind kind, Form form, std::size_t row_bytes) const {
  if (goes_native(kind, form, row_bytes)) return WireWay::native;
  const bool may_be_bulk = form == Form::contiguous && (kind == OperationKind::put || kind == OperationKind::get);
  return may_be_bulk && row_bytes >= settings_.bulk_bytes ? WireWay::bulk : WireWay::messages;
}

std::vector<Ways::Row> Ways::rows() const {
  constexpr const char* kForms[] = {"contiguous", "strided", "vector"};
  constexpr const char* kWays[] = {"messages", "bulk", "native"};
  std::vector<Row> rows;
  for (const OperationKind operation : kOperationKinds) {
    for (const Form form : {Form::contiguous, Form::strided, Form::vector}) {
      const bool is_contiguous_only = operation == OperationKind::update || operation == OperationKind::rmw;
      if (is_contiguous_only && form != Form::contiguous) continue;
      const char* name = kForms[static_cast<int>(form)];
      const WireWay shortest = choose(operation, form, 0), longest = choose(operation, form, SIZE_MAX);
      rows.push_back({to_string(operation), name, "0", kWays[static_cast<int>(shortest)]});
      if (longest == shortest) continue;
      const std::size_t from = longest == WireWay::native ? settings_.native_row_bytes : settings_.bulk_bytes;
      rows.push_back({to_string(operation), name, std::to_string(from), kWays[static_cast<int>(longest)]});
    }
  }
  return rows;
}

}  // namespace grapnel::rma
