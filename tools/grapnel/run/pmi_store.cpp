// SPDX-License-Identifier: Apache-2.0
#include "run/pmi_store.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace grapnel::tool {
namespace {

constexpr int kLauncher = -1;  // the owner of what MPI finds here

}  // namespace

PmiStore::PmiStore(int ranks)
    : name_(fmt::format("kvs_grapnel_{}", ::getpid())), keys_of_(static_cast<std::size_t>(ranks)) {
  // All ranks are on one node.
  entries_["PMI_process_mapping"] = {kLauncher, fmt::format("(vector,(0,1,{}))", ranks)};
}

Status PmiStore::put(int rank, const std::string& store, const std::string& key, const std::string& value) {
  if (store != name_) return Status(Code::refused, "unknown_kvsname");
  if (key.size() >= kKeyRoom || value.size() >= kValueRoom) return Status(Code::refused, "too_long");
  const auto found = entries_.find(key);
  if (found != entries_.end()) {
    if (found->second.owner != rank) return Status(Code::refused, "key_of_another_rank");
    found->second.value = value;
    return {};
  }
  std::size_t& keys = keys_of_[static_cast<std::size_t>(rank)];
  if (keys == kMostKeys) return Status(Code::refused, "too_many_keys");
  ++keys;
  entries_[key] = {rank, value};
  return {};
}

const std::string* PmiStore::get(const std::string& store, const std::string& key) const {
  const auto found = entries_.find(key);
  return store == name_ && found != entries_.end() ? &found->second.value : nullptr;
}

}  // namespace grapnel::tool
