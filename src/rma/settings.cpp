// SPDX-License-Identifier: Apache-2.0
#include "rma/settings.hpp"

#include "base/units.hpp"
#include "base/variables.hpp"

namespace grapnel::rma {

const base::SettingsGroup& Settings::group() {
  using base::kGiB;
  using base::kKiB;
  static const base::SettingsGroup settings{
      Settings(),
      {
          base::choice("GRAPNEL_FENCE", "how a fence asks the dirty nodes", "serial|overlapped", &Settings::fence,
                       {{"serial", FenceKind::serial}, {"overlapped", FenceKind::overlapped}}),
          // A barrier chooses its plan by it.
          base::alike_in_all_ranks(base::integer("GRAPNEL_FENCE_WINDOW",
                                                 "fence requests in flight at once (overlapped)", "1..4096",
                                                 &Settings::fence_window, 1, 4096)),
          base::integer("GRAPNEL_CHUNK_BYTES", "data in one message at most", "1024..65536", &Settings::chunk_bytes,
                        kKiB, 64 * kKiB),
          base::integer("GRAPNEL_BULK_BYTES", "contiguous puts and gets at least this long go in bulk, uncopied",
                        "131073..1099511627776", &Settings::bulk_bytes, 128 * kKiB + 1, std::size_t{1} << 40),
          base::integer("GRAPNEL_NATIVE_ROW_BYTES", "strided rows at least this long go native, shorter are packed",
                        "1..1073741824", &Settings::native_row_bytes, 1, kGiB),
      }};
  return settings;
}

}  // namespace grapnel::rma
