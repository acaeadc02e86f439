// SPDX-License-Identifier: Apache-2.0
#include "api/mpi/hints.hpp"

#include <vector>

#include "locks/settings.hpp"

namespace grapnel::front {
namespace {

bool is_flag(const std::string& key) {
  return key == "no_locks" || key == "alloc_shared_noncontig" || key == "same_disp_unit" || key == "same_size";
}

template <typename Value>
std::optional<Value> chosen(const std::vector<base::Choice<Value>>& choices, const std::string& text) {
  for (const auto& choice : choices) {
    if (text == choice.text) return choice.value;
  }
  return std::nullopt;
}

bool takes(const std::string& key, const std::string& value) {
  if (is_flag(key)) return value == "true" || value == "false";
  if (key == "grapnel_lock") return chosen(locks::kind_choices(), value).has_value();
  if (key == "grapnel_lock_domain") return chosen(locks::domain_choices(), value).has_value();
  if (key == "grapnel") return value == "off" || value == "on";
  return key == "accumulate_ordering" || key == "accumulate_ops";
}

}  // namespace

Hints default_hints(bool shared_memory) {
  Hints hints = {{"no_locks", "false"},
                 {"accumulate_ordering", "rar,raw,war,waw"},
                 {"accumulate_ops", "same_op_no_op"},
                 {"same_size", "false"},
                 {"same_disp_unit", "false"}};
  if (shared_memory) hints["alloc_shared_noncontig"] = "false";
  return hints;
}

void add_hints(Hints& hints, MPI_Info info) {
  if (info == MPI_INFO_NULL) return;
  int keys = 0;
  PMPI_Info_get_nkeys(info, &keys);
  for (int at = 0; at < keys; ++at) {
    char key[MPI_MAX_INFO_KEY + 1] = {};
    PMPI_Info_get_nthkey(info, at, key);
    int length = 0, found = 0;
    PMPI_Info_get_valuelen(info, key, &length, &found);
    if (found == 0) continue;
    std::vector<char> value(static_cast<std::size_t>(length) + 1);
    PMPI_Info_get(info, key, length, value.data(), &found);
    if (takes(key, value.data())) hints[key] = value.data();
  }
}

bool is_true(const Hints& hints, const char* key) {
  const auto found = hints.find(key);
  return found != hints.end() && found->second == "true";
}

std::optional<LockKind> lock_kind(const Hints& hints) {
  const auto found = hints.find("grapnel_lock");
  return found == hints.end() ? std::nullopt : chosen(locks::kind_choices(), found->second);
}

std::optional<AtomicDomain> lock_domain(const Hints& hints) {
  const auto found = hints.find("grapnel_lock_domain");
  return found == hints.end() ? std::nullopt : chosen(locks::domain_choices(), found->second);
}

}  // namespace grapnel::front
