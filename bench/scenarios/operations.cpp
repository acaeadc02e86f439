// SPDX-License-Identifier: Apache-2.0
#include "scenarios/operations.hpp"

namespace grapnel::bench {
namespace {

Side repeat(std::function<void()> operation) {
  return {[operation = std::move(operation)](long count) {
    for (long i = 0; i < count; ++i) operation();
  }};
}

constexpr Strided kShape{.levels = 1, .count = {kRowBytes, kRows}, .stride = {kStride}};

}  // namespace

Side get_8(Session& s, Operands& operands) {
  return repeat([&] { must(s.g.get(s.remote(), &operands.word, 8, Session::kTarget)); });
}

Side put_fence_8(Session& s, Operands& operands) {
  return repeat([&] {
    must(s.g.put(&operands.word, s.remote(), 8, Session::kTarget));
    must(s.g.fence(Session::kTarget));
  });
}

Side fetch_and_add(Session& s, Operands&) {
  return repeat([&] { must(s.g.fetch_and_add(s.remote(), 1, Width::bits64, Session::kTarget).status()); });
}

Side accumulate_fence_4k(Session& s, Operands& operands) {
  return repeat([&] {
    must(s.g.accumulate(ElementType::float64, nullptr, operands.local.at(0), s.remote(), 4096, Session::kTarget));
    must(s.g.fence(Session::kTarget));
  });
}

Side put_fence_strided(Session& s, Operands& operands) {
  return repeat([&] {
    must(s.g.put(operands.local.at(0), kShape, s.remote(), kShape, Session::kTarget));
    must(s.g.fence(Session::kTarget));
  });
}

Side put_fence_contiguous(Session& s, Operands& operands) {
  return repeat([&] {
    must(s.g.put(operands.local.at(0), s.remote(), kRowBytes * kRows, Session::kTarget));
    must(s.g.fence(Session::kTarget));
  });
}

}  // namespace grapnel::bench
