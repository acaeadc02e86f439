#include "rma/ways.hpp"

namespace grapnel::rma {
namespace {

// What may go native, and from which row length on. Shorter rows are packed: an operation of the fabric costs about as
// much as packing that many bytes. What has no row goes by messages.
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

WireWay Ways::choose(OperationKind kind, Form form, std::size_t row_bytes) const {
  const Rule* rule = config_.native_rma ? rule_of(kind, form) : nullptr;
  if (rule == nullptr) return WireWay::messages;
  const bool able = kind == OperationKind::put ? fabric_.native_put : fabric_.native_get;
  const bool long_enough = rule->from_first_byte || row_bytes >= config_.native_row_bytes;
  return able && long_enough ? WireWay::native : WireWay::messages;
}

std::vector<Ways::Row> Ways::rows() const {
  struct Name {
    OperationKind kind;
    const char* text;
  };
  constexpr Name kOperations[] = {{OperationKind::put, "put"},
                                  {OperationKind::get, "get"},
                                  {OperationKind::accumulate, "accumulate"},
                                  {OperationKind::rmw, "read-modify-write"}};
  constexpr const char* kForms[] = {"contiguous", "strided", "vector"};
  std::vector<Row> rows;
  for (const Name& operation : kOperations) {
    for (const Form form : {Form::contiguous, Form::strided, Form::vector}) {
      if (operation.kind == OperationKind::rmw && form != Form::contiguous) continue;
      const char* name = kForms[static_cast<int>(form)];
      const bool native = choose(operation.kind, form, SIZE_MAX) == WireWay::native;
      if (native && choose(operation.kind, form, 0) != WireWay::native) {
        rows.push_back({operation.text, name, "0", "messages"});
        rows.push_back({operation.text, name, std::to_string(config_.native_row_bytes), "native"});
      } else {
        rows.push_back({operation.text, name, "0", native ? "native" : "messages"});
      }
    }
  }
  return rows;
}

}  // namespace grapnel::rma
