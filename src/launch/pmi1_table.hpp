// What all ranks published for one fence, as the server of `grapnel run` hands it to each of them: one sealed file, in
// place of a request for each value of each rank.
//
// The file begins with ranks + 1 offsets (64 bits each) from its beginning; rank r's part lies between the offsets r
// and r + 1 and holds (key, value) pairs as `base::Encoder::put_string` writes them.
//
// Nothing in the file is trusted: an offset or a length that leads out of it is an error.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "grapnel/status.hpp"
#include "grapnel/types.hpp"
#include "os/descriptor.hpp"
#include "os/sealed_file.hpp"

namespace grapnel::launch {

/// Bytes of one rank's part at most.
inline constexpr std::size_t kPmi1MostPublished = 16 * 1024 * 1024;

/// The bytes of a table. `parts`: by rank.
Bytes encode_pmi1_table(const std::vector<Bytes>& parts);

class Pmi1Table {
 public:
  /// Errors: refused (not a table of `ranks` parts), system.
  static Result<Pmi1Table> open(const os::Descriptor& file, std::size_t bytes, int ranks);

  /// The last value that `rank` published under `key` for this fence. The bytes live as long as the table. Errors:
  /// refused (the rank's part cannot be read).
  Result<std::optional<ByteView>> find(Rank rank, std::string_view key) const;

 private:
  explicit Pmi1Table(os::SealedView view) : view_(std::move(view)) {}
  std::size_t offset(std::size_t number) const;

  os::SealedView view_;
};

}  // namespace grapnel::launch
