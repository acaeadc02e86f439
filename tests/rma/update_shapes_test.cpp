// Updates of strided and vector shapes in segments: every kind against a model, in few messages, each element whole.
// SPDX-License-Identifier: Apache-2.0
#include "rma/lent_programs.hpp"

namespace grapnel::test {

WORLD_TEST(UpdateShapes, RandomOnesDoAsTheirModel) {
  const auto memory = g.allocate(RandomSlice::kBytes * static_cast<std::size_t>(g.size()) + 5);
  ASSERT_OK(memory.status());
  play_random_slices(g, static_cast<std::byte*>(memory->local()) + 5, false, 40);
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

// Columns of a matrix, added by all ranks: one call each; the fetched ones give every ticket once.
WORLD_TEST(UpdateShapes, ColumnsAreOneCall) {
  constexpr std::int64_t kRows = 100, kRowBytes = 400;
  const auto memory = g.allocate(kRows * kRowBytes);
  ASSERT_OK(memory.status());
  const Rank target{g.size() - 1};
  const std::vector<std::int64_t> ones(kRows, 1);
  std::vector<std::int64_t> found(kRows, -1);
  const Strided column = shape_of(8, kRows, kRowBytes), packed = shape_of(8, kRows, 8);
  rma::StridedUpdate what;
  what.operation = Operation::sum;
  what.number = NumberType::int64;
  what.local = ones.data();
  what.local_shape = what.old_shape = &packed;
  what.remote = memory->on(target);
  what.remote_shape = &column;
  what.target = target;
  const bool away = !g.same_node(target);
  const std::uint64_t before = wire_messages(g, "update");
  ASSERT_OK(rma_of(g).transfer(what));
  EXPECT_EQ(wire_messages(g, "update") - before, away ? 1U : 0U);
  what.old_elements = found.data();
  ASSERT_OK(rma_of(g).transfer(what));
  EXPECT_LE(wire_messages(g, "update") - before, away ? 2U : 0U) << "40,000 bytes lie in 11 stripes at most";
  for (const std::int64_t ticket : found) EXPECT_TRUE(ticket >= 0 && ticket < 2 * g.size()) << ticket;
  EXPECT_OK(g.barrier());
  what.operation = Operation::none;
  what.local = nullptr;
  ASSERT_OK(rma_of(g).transfer(what));
  EXPECT_EQ(found, std::vector<std::int64_t>(kRows, 2 * g.size()));
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST(UpdateShapes, MistakesAreNamed) {
  const auto memory = g.allocate(4096);
  ASSERT_OK(memory.status());
  const Rank target{g.size() - 1};
  std::int64_t numbers[8] = {};
  const Strided sound = shape_of(8, 4, 16), torn = shape_of(12, 4, 16), other = shape_of(8, 5, 16),
                far = shape_of(8, 4, 1 << 20);
  const auto code_of = [&](const Strided& local, const Strided& remote, Operation operation, const void* source) {
    rma::StridedUpdate what;
    what.operation = operation;
    what.number = NumberType::int64;
    what.local = source;
    what.local_shape = &local;
    what.remote = memory->on(target);
    what.remote_shape = &remote;
    what.target = target;
    return rma_of(g).transfer(what).code();
  };
  EXPECT_EQ(code_of(torn, torn, Operation::sum, numbers), Code::invalid_argument);
  EXPECT_EQ(code_of(other, sound, Operation::sum, numbers), Code::invalid_argument);
  EXPECT_EQ(code_of(far, far, Operation::sum, numbers), Code::invalid_argument);
  EXPECT_EQ(code_of(sound, sound, Operation::least_absolute, numbers), Code::invalid_argument);
  EXPECT_EQ(code_of(sound, sound, Operation::sum, nullptr), Code::invalid_argument);
  EXPECT_EQ(code_of(sound, sound, Operation::none, nullptr), Code::ok) << "nothing is to be done";
  const auto vector_code = [&](const rma::Part& part, bool fetches, Rank rank) {
    return rma_of(g).transfer(rma::VectorUpdate{Operation::sum, NumberType::int64, fetches, {&part, 1}, rank}).code();
  };
  void* const there = memory->on(target);
  EXPECT_EQ(vector_code({numbers, nullptr, there, 12}, false, target), Code::invalid_argument);
  EXPECT_EQ(vector_code({nullptr, nullptr, there, 8}, false, target), Code::invalid_argument);
  EXPECT_EQ(vector_code({numbers, nullptr, there, 8}, true, target), Code::invalid_argument);
  EXPECT_EQ(vector_code({numbers, nullptr, numbers, 8}, false, target), Code::invalid_argument);
  EXPECT_EQ(vector_code({numbers, nullptr, there, 8}, false, Rank{g.size()}), Code::invalid_argument);
  EXPECT_OK(g.barrier());
  for (int i = 0; i < 4096; ++i) ASSERT_EQ(static_cast<const char*>(memory->local())[i], 0);
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

}  // namespace grapnel::test
