// The table of ways: what goes native, and how it is overridden.
#include <gtest/gtest.h>

#include "rma/ways.hpp"

namespace grapnel::rma {
namespace {

constexpr transport::Capabilities fabric(bool put, bool get) { return {{}, put, get, true}; }

TEST(Ways, MessagesWhereTheFabricHasNothing) {
  const Ways ways(base::Config{}, fabric(false, false));
  EXPECT_FALSE(ways.any_native());
  for (const auto& row : ways.rows()) EXPECT_EQ(row.way, "messages") << row.operation << " " << row.form;
}

TEST(Ways, LongRowsGoNativeAndShortOnesArePacked) {
  const base::Config config;
  const Ways ways(config, fabric(true, false));
  EXPECT_EQ(ways.choose(OperationKind::put, Form::contiguous, 1), WireWay::native);
  EXPECT_EQ(ways.choose(OperationKind::put, Form::strided, config.native_row_bytes), WireWay::native);
  EXPECT_EQ(ways.choose(OperationKind::put, Form::strided, config.native_row_bytes - 1), WireWay::messages);
  EXPECT_EQ(ways.choose(OperationKind::get, Form::contiguous, 1 << 20), WireWay::messages);  // put only
  EXPECT_EQ(ways.choose(OperationKind::accumulate, Form::contiguous, 1 << 20), WireWay::messages);
  EXPECT_EQ(ways.choose(OperationKind::put, Form::vector, 1 << 20), WireWay::messages);
}

TEST(Ways, SettingsOverrideTheTable) {
  base::Config config;
  config.native_row_bytes = 64;
  EXPECT_EQ(Ways(config, fabric(true, true)).choose(OperationKind::get, Form::strided, 64), WireWay::native);
  config.native_rma = false;
  EXPECT_FALSE(Ways(config, fabric(true, true)).any_native());
  EXPECT_EQ(Ways(config, fabric(true, true)).choose(OperationKind::get, Form::contiguous, 64), WireWay::messages);
}

}  // namespace
}  // namespace grapnel::rma
