// The table of ways: what is done natively, and how it is overridden.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "rma/settings.hpp"
#include "rma/ways.hpp"
#include "transport/settings.hpp"

namespace grapnel::rma {
namespace {

constexpr transport::Capabilities fabric(bool put, bool get) { return {{}, put, get, true}; }

TEST(Ways, MessagesWhereTheFabricHasNothing) {
  const base::Config config;
  const Ways ways(config, fabric(false, false));
  EXPECT_FALSE(ways.any_native());
  for (const auto& row : ways.rows()) {
    const bool long_copy =
        row.form == "contiguous" && row.from_row_bytes == std::to_string(config.get<rma::Settings>().bulk_bytes);
    EXPECT_EQ(row.way, long_copy ? "bulk" : "messages") << row.operation << " " << row.form;
  }
}

TEST(Ways, LongCopiesGoInBulkAndNothingElseDoes) {
  base::Config config;
  config.change<rma::Settings>().bulk_bytes = 200'000;
  const Ways ways(config, fabric(false, false));
  EXPECT_EQ(ways.choose(OperationKind::put, Form::contiguous, 200'000), WireWay::bulk);
  EXPECT_EQ(ways.choose(OperationKind::get, Form::contiguous, 200'000), WireWay::bulk);
  EXPECT_EQ(ways.choose(OperationKind::put, Form::contiguous, 199'999), WireWay::messages);
  EXPECT_EQ(ways.choose(OperationKind::accumulate, Form::contiguous, 1 << 20), WireWay::messages);
  EXPECT_EQ(ways.choose(OperationKind::put, Form::strided, 1 << 20), WireWay::messages);
}

TEST(Ways, LongRowsGoNativeAndShortOnesArePacked) {
  const base::Config config;
  const Ways ways(config, fabric(true, false));
  EXPECT_EQ(ways.choose(OperationKind::put, Form::contiguous, 1), WireWay::native);
  EXPECT_EQ(ways.choose(OperationKind::put, Form::strided, config.get<rma::Settings>().native_row_bytes),
            WireWay::native);
  EXPECT_EQ(ways.choose(OperationKind::put, Form::strided, config.get<rma::Settings>().native_row_bytes - 1),
            WireWay::messages);
  EXPECT_EQ(ways.choose(OperationKind::get, Form::contiguous, 1 << 17), WireWay::messages);  // put only
  EXPECT_EQ(ways.choose(OperationKind::accumulate, Form::contiguous, 1 << 20), WireWay::messages);
  EXPECT_EQ(ways.choose(OperationKind::put, Form::vector, 1 << 20), WireWay::messages);
}

TEST(Ways, SettingsOverrideTheTable) {
  base::Config config;
  config.change<rma::Settings>().native_row_bytes = 64;
  EXPECT_EQ(Ways(config, fabric(true, true)).choose(OperationKind::get, Form::strided, 64), WireWay::native);
  config.change<transport::Settings>().native_rma = false;
  EXPECT_FALSE(Ways(config, fabric(true, true)).any_native());
  EXPECT_EQ(Ways(config, fabric(true, true)).choose(OperationKind::get, Form::contiguous, 64), WireWay::messages);
}

}  // namespace
}  // namespace grapnel::rma
