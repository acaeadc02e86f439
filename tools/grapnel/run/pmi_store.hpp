// The key store of PMI-1, for an MPI that a rank starts: one for all ranks, in which a key is its first owner's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "grapnel/status.hpp"

namespace grapnel::tool {

class PmiStore {
 public:
  static constexpr std::size_t kKeyRoom = 64;  ///< characters with a closing zero, as hydra has them
  static constexpr std::size_t kValueRoom = 1024;
  static constexpr std::size_t kNameRoom = 256;
  static constexpr std::size_t kMostKeys = 4096;  ///< of one rank

  explicit PmiStore(int ranks);

  const std::string& name() const { return name_; }
  /// Errors: refused (another rank's key, no room), in words of one word each: they go into a line of PMI-1.
  Status put(int rank, const std::string& store, const std::string& key, const std::string& value);
  /// Null where no rank has put it.
  const std::string* get(const std::string& store, const std::string& key) const;

 private:
  struct Entry {
    int owner;
    std::string value;
  };
  const std::string name_;
  std::map<std::string, Entry> entries_;
  std::vector<std::size_t> keys_of_;  ///< by rank
};

}  // namespace grapnel::tool
