// For tests of lent memory and of updates of shapes: a rank's part of each target's memory, changed by random
// operations of every kind and compared with a model.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <vector>

#include "base/codec.hpp"
#include "harness/access.hpp"
#include "harness/world.hpp"
#include "rma/service.hpp"

namespace grapnel::test {

inline rma::Rma& rma_of(Runtime& g) { return *g.implementation().rma; }
inline segment::Lent& lent_of(Runtime& g) { return g.implementation().core->service<rma::RmaService>().lent(); }

/// By rank: the address that each has passed.
inline std::vector<std::byte*> addresses_of_all(Runtime& g, void* mine) {
  const auto address = reinterpret_cast<std::uint64_t>(mine);
  const auto all = g.allgather(g.world(), base::bytes_of(address));
  std::vector<std::byte*> addresses;
  for (const Bytes& one : *all) {
    std::uint64_t value = 0;
    std::memcpy(&value, one.data(), sizeof value);
    addresses.push_back(reinterpret_cast<std::byte*>(value));
  }
  return addresses;
}

inline Strided shape_of(std::int64_t row, std::int64_t rows, std::int64_t stride) {
  Strided shape;
  shape.levels = 1;
  shape.count[0] = row;
  shape.count[1] = rows;
  shape.stride[0] = stride;
  return shape;
}

/// One rank's slice of one target's memory. No other rank touches it.
class RandomSlice {
 public:
  static constexpr std::size_t kBytes = 40'001;

  /// `there`: the slice's address at the target; it holds zeros.
  RandomSlice(Runtime& g, Rank target, std::byte* there, bool lent, std::uint64_t seed)
      : rma_(rma_of(g)), target_(target), there_(there), lent_(lent), random_(seed), model_(kBytes) {}

  void step() {
    switch (random_.below(lent_ ? 9 : 4)) {
      case 0: return update_rows(false);
      case 1: return update_rows(true);
      case 2: return update_parts(false);
      case 3: return update_parts(true);
      case 4: return copy_one();
      case 5: return copy_rows();
      case 6: return copy_pieces();
      case 7: return update_one();
      default: return compare();
    }
  }
  const Bytes& model() const { return model_; }

 private:
  struct Rows {
    std::size_t at = 0;
    Strided remote, local, old;
    std::size_t total = 0, local_extent = 0, old_extent = 0;
  };

  // Rows of `unit` bytes and their multiples.
  Rows some_rows(std::size_t unit) {
    Rows rows;
    const auto row = static_cast<std::int64_t>(unit * random_.between(1, random_.chance(0.3) ? 200 : 4));
    const auto count = static_cast<std::int64_t>(random_.between(1, 40));
    const auto gap = [&] { return static_cast<std::int64_t>(random_.chance(0.2) ? 0 : random_.below(300)); };
    std::int64_t stride = row + gap();
    while (stride * count > static_cast<std::int64_t>(kBytes) - row) --stride;  // rows may overlap: as in the model
    const bool backwards = random_.chance(0.2);
    rows.remote = shape_of(row, count, backwards ? -stride : stride);
    rows.local = shape_of(row, count, row + gap());
    rows.old = shape_of(row, count, row + gap());
    const auto extent = static_cast<std::size_t>(std::abs(stride) * (count - 1) + row);
    rows.at = random_.below(kBytes - extent) + (backwards ? extent - static_cast<std::size_t>(row) : 0);
    rows.total = static_cast<std::size_t>(row * count);
    rows.local_extent = static_cast<std::size_t>(rows.local.stride[0] * count);
    rows.old_extent = static_cast<std::size_t>(rows.old.stride[0] * count);
    return rows;
  }

  Bytes random_bytes(std::size_t bytes) {
    Bytes data(bytes);
    for (std::byte& one : data) one = static_cast<std::byte>(random_.next());
    return data;
  }

  struct Kind {
    Operation operation;
    NumberType number;
    Reduction kernel;
  };
  Kind some_update(bool fetches) {
    constexpr NumberType kNumbers[] = {NumberType::int8,  NumberType::uint16,    NumberType::int32,
                                       NumberType::int64, NumberType::complex64, NumberType::int64_with_place};
    for (;;) {
      const auto operation = Operation(random_.below(kOperations));
      const NumberType number = kNumbers[random_.below(std::size(kNumbers))];
      const auto kernel = reduction(operation, number);
      const bool sound = kernel.ok() && kernel->prepare == nullptr && (fetches || operation != Operation::none);
      // Numbers that are no numbers (of random bits) may differ in their bits.
      if (sound && (number != NumberType::complex64 || operation == Operation::replace)) {
        return {operation, number, *kernel};
      }
    }
  }

  // Of the model: one run; the old elements go to `old`.
  void expect_update(const Kind& kind, std::size_t at, const std::byte* source, std::byte* old, std::size_t bytes) {
    if (old != nullptr) std::memcpy(old, &model_[at], bytes);
    if (kind.operation != Operation::none) {
      kind.kernel.join(&model_[at], source, bytes / kind.kernel.element_bytes);
    }
  }

  template <typename What>
  void run(const What& what) {
    if (random_.chance(0.5)) {
      ASSERT_OK(rma_.transfer(what));
      return;
    }
    Handle handle;
    ASSERT_OK(rma_.start(what, &handle));
    ASSERT_OK(rma_.wait(handle));
  }

  void update_rows(bool fetches) {
    const Kind kind = some_update(fetches);
    const Rows rows = some_rows(kind.kernel.element_bytes);
    const Bytes source = random_bytes(rows.local_extent);
    Bytes found(rows.old_extent), expected(rows.old_extent);
    for (std::int64_t i = 0; i < rows.remote.count[1]; ++i) {
      const auto row = static_cast<std::size_t>(i);
      expect_update(kind, static_cast<std::size_t>(static_cast<std::int64_t>(rows.at) + i * rows.remote.stride[0]),
                    &source[row * static_cast<std::size_t>(rows.local.stride[0])],
                    fetches ? &expected[row * static_cast<std::size_t>(rows.old.stride[0])] : nullptr,
                    static_cast<std::size_t>(rows.remote.count[0]));
    }
    rma::StridedUpdate what;
    what.operation = kind.operation;
    what.number = kind.number;
    what.local = kind.operation == Operation::none ? nullptr : source.data();
    what.local_shape = &rows.local;
    what.old_elements = fetches ? found.data() : nullptr;
    what.old_shape = &rows.old;
    what.remote = there_ + rows.at;
    what.remote_shape = &rows.remote;
    what.target = target_;
    what.lent = lent_;
    run(what);
    EXPECT_EQ(found, expected) << "strided " << kind.kernel.name;
  }

  void update_parts(bool fetches) {
    const Kind kind = some_update(fetches);
    const std::size_t element = kind.kernel.element_bytes;
    const Bytes source = random_bytes(kBytes);
    Bytes found(kBytes), expected(kBytes);
    std::vector<rma::Part> parts;
    std::size_t used = 0;
    for (std::size_t left = random_.below(60); left > 0 && used + 200 * element < kBytes; --left) {
      const std::size_t bytes = element * random_.below(random_.chance(0.1) ? 200 : 5);
      const std::size_t at = random_.below(kBytes - bytes);
      parts.push_back({kind.operation == Operation::none ? nullptr : &source[used], fetches ? &found[used] : nullptr,
                       there_ + at, bytes});
      if (bytes > 0) expect_update(kind, at, &source[used], fetches ? &expected[used] : nullptr, bytes);
      used += bytes + random_.below(20);
    }
    run(rma::VectorUpdate{kind.operation, kind.number, fetches, parts, target_, lent_});
    EXPECT_EQ(found, expected) << "vector " << kind.kernel.name;
  }

  void update_one() {
    const bool fetches = random_.chance(0.5);
    const Kind kind = some_update(fetches);
    const std::size_t bytes = kind.kernel.element_bytes * random_.between(1, 1200);
    const std::size_t at = random_.below(kBytes - bytes);
    const Bytes source = random_bytes(bytes);
    Bytes found(bytes), expected(bytes);
    expect_update(kind, at, source.data(), fetches ? expected.data() : nullptr, bytes);
    auto what = rma::Rma::update_transfer(kind.operation, kind.number, source.data(), fetches ? found.data() : nullptr,
                                          there_ + at, bytes / kind.kernel.element_bytes, target_);
    ASSERT_OK(what.status());
    what->lent = lent_;
    run(*what);
    EXPECT_EQ(found, expected) << kind.kernel.name;
  }

  void copy_one() {
    const std::size_t bytes = random_.below(random_.chance(0.1) ? kBytes : 300);
    const std::size_t at = random_.below(kBytes - bytes);
    const bool puts = random_.chance(0.5);
    Bytes data = random_bytes(bytes);
    run(rma::ContiguousTransfer{
        puts ? rma::OperationKind::put : rma::OperationKind::get, {}, data.data(), there_ + at, bytes, target_, true});
    if (bytes == 0) return;
    if (puts) std::memcpy(&model_[at], data.data(), bytes);
    EXPECT_EQ(std::memcmp(data.data(), &model_[at], bytes), 0) << "at " << at;
  }

  void copy_rows() {
    Rows rows = some_rows(1);
    const bool puts = random_.chance(0.5) && std::abs(rows.remote.stride[0]) >= rows.remote.count[0];
    Bytes data = random_bytes(rows.local_extent);
    run(rma::StridedTransfer{puts ? rma::OperationKind::put : rma::OperationKind::get,
                             {},
                             data.data(),
                             &rows.local,
                             there_ + rows.at,
                             &rows.remote,
                             target_,
                             true});
    for (std::int64_t i = 0; i < rows.remote.count[1]; ++i) {
      std::byte* const here = &data[static_cast<std::size_t>(i * rows.local.stride[0])];
      std::byte* const there = model_.data() + static_cast<std::int64_t>(rows.at) + i * rows.remote.stride[0];
      const auto bytes = static_cast<std::size_t>(rows.remote.count[0]);
      if (puts) std::memcpy(there, here, bytes);
      EXPECT_EQ(std::memcmp(here, there, bytes), 0) << "row " << i;
    }
  }

  void copy_pieces() {
    const bool puts = random_.chance(0.5);
    Bytes data = random_bytes(kBytes);
    std::vector<Piece> pieces;
    const std::size_t count = random_.chance(0.1) ? 3000 : random_.below(50);
    const std::size_t step = kBytes / (count + 1);
    for (std::size_t i = 0; i < count; ++i) {
      pieces.push_back({&data[i * step], there_ + i * step, random_.below(std::min<std::size_t>(step, 200))});
    }
    run(rma::VectorTransfer{puts ? rma::OperationKind::put : rma::OperationKind::get, {}, pieces, target_, true});
    for (const Piece& piece : pieces) {
      if (piece.bytes == 0) continue;
      std::byte* const there = model_.data() + (static_cast<std::byte*>(piece.remote) - there_);
      if (puts) std::memcpy(there, piece.local, piece.bytes);
      EXPECT_EQ(std::memcmp(piece.local, there, piece.bytes), 0);
    }
  }

  void compare() {
    const std::size_t bytes = std::size_t{1} << random_.below(4);
    const std::size_t at = random_.below(kBytes - bytes);
    std::uint64_t old_value = 0, expected = 0;
    const std::uint64_t desired = random_.next();
    std::memcpy(&old_value, &model_[at], bytes);
    expected = random_.chance(0.5) ? old_value : random_.next();
    const auto found = rma_.compare(there_ + at, expected, desired, bytes, target_, true);
    ASSERT_OK(found.status());
    EXPECT_EQ(*found, old_value);
    if (std::memcmp(&expected, &old_value, bytes) == 0) std::memcpy(&model_[at], &desired, bytes);
  }

  rma::Rma& rma_;
  const Rank target_;
  std::byte* const there_;
  const bool lent_;
  base::Random random_;
  Bytes model_;
};

/// Each rank plays on its slice of every target, and the owners compare what they find with the models of all.
inline void play_random_slices(Runtime& g, std::byte* mine, bool lent, int steps) {
  const auto ranks = static_cast<std::size_t>(g.size());
  const auto addresses = addresses_of_all(g, mine);
  std::vector<RandomSlice> slices;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::byte* const there = addresses[rank] + index(g.rank()) * RandomSlice::kBytes;
    slices.emplace_back(g, Rank{static_cast<int>(rank)}, there, lent,
                        world_seed() * 1000 + index(g.rank()) * 31 + rank);
  }
  for (int step = 0; step < steps && !::testing::Test::HasFailure(); ++step) {
    for (RandomSlice& slice : slices) slice.step();
  }
  EXPECT_OK(g.barrier());
  for (std::size_t target = 0; target < ranks; ++target) {
    const auto models = g.allgather(g.world(), slices[target].model());
    ASSERT_OK(models.status());
    if (target != index(g.rank())) continue;
    for (std::size_t origin = 0; origin < ranks; ++origin) {
      EXPECT_EQ(std::memcmp(mine + origin * RandomSlice::kBytes, (*models)[origin].data(), RandomSlice::kBytes), 0)
          << "of rank " << origin;
    }
  }
}

}  // namespace grapnel::test
