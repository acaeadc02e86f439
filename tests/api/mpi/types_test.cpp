// Datatypes taken apart by the front end, against what the host's MPI_Pack packs: random nested types of every
// combiner.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "api/mpi/types.hpp"
#include "window/layout.hpp"

namespace grapnel::front {
namespace {

using window::Cursor;

constexpr std::size_t kRoom = std::size_t{1} << 20;

/// Open MPI 5.0.7 was seen to round the distance between equal parts down to a multiple of the element, and here all
/// distances are multiples of 8.
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5
const MPI_Datatype kLargestNumber = MPI_DOUBLE;
#else
const MPI_Datatype kLargestNumber = MPI_C_DOUBLE_COMPLEX;
#endif

/// Derived types of a test; freed at its end.
class Types {
 public:
  explicit Types(std::uint32_t seed) : random_(seed) {}
  ~Types() {
    for (MPI_Datatype& type : made_) MPI_Type_free(&type);
  }

  MPI_Datatype random(int depth) {
    if (depth == 0) return leaf();
    const MPI_Datatype child = usable(random(depth - 1));
    MPI_Datatype type = MPI_DATATYPE_NULL;
    switch (below(15)) {
      case 0: MPI_Type_dup(child, &type); break;
      case 1: MPI_Type_contiguous(below(4), child, &type); break;
      case 2: MPI_Type_vector(below(4), below(3), between(-3, 5), child, &type); break;
      case 3: MPI_Type_create_hvector(below(4), below(3), 8 * between(-9, 20), child, &type); break;
      case 4: indexed(child, type); break;
      case 5: indexed_in_bytes(child, type); break;
      case 6: indexed_block(child, type); break;
      case 7: structure(depth, child, type); break;
      case 8: subarray(child, type); break;
      case 9: distributed_array(child, type); break;
      case 10: MPI_Type_create_resized(child, 8 * between(-3, 3), 8 * between(1, 30), &type); break;
      case 11: fortran(type); break;
      default: large(child, type); break;
    }
    // Hosts differ in what they refuse: Open MPI a distributed array of a type without data.
    if (type == MPI_DATATYPE_NULL) MPI_Type_dup(child, &type);
    made_.push_back(type);
    return type;
  }

  int between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  int below(int limit) { return between(0, limit - 1); }

 private:
  MPI_Datatype leaf() {
    const std::array<MPI_Datatype, 12> types = {MPI_CHAR,     MPI_INT,       MPI_DOUBLE,          MPI_SHORT,
                                                MPI_FLOAT,    MPI_LONG,      MPI_DOUBLE_INT,      MPI_SHORT_INT,
                                                MPI_LONG_INT, MPI_FLOAT_INT, MPI_LONG_DOUBLE_INT, kLargestNumber};
    return types[static_cast<std::size_t>(below(types.size()))];
  }
  std::vector<int> numbers(std::size_t count, int low, int high) {
    std::vector<int> all(count + 1);  // one more: its address is never null
    for (int& one : all) one = between(low, high);
    return all;
  }
  std::vector<MPI_Aint> addresses(std::size_t count) {
    std::vector<MPI_Aint> all(count + 1);
    for (MPI_Aint& one : all) one = 8 * between(-20, 60);
    return all;
  }
  void indexed(MPI_Datatype child, MPI_Datatype& type) {
    const auto count = static_cast<std::size_t>(below(4));
    MPI_Type_indexed(static_cast<int>(count), numbers(count, 0, 3).data(), numbers(count, -4, 9).data(), child, &type);
  }
  void indexed_in_bytes(MPI_Datatype child, MPI_Datatype& type) {
    const auto count = static_cast<std::size_t>(below(4));
    MPI_Type_create_hindexed(static_cast<int>(count), numbers(count, 0, 3).data(), addresses(count).data(), child,
                             &type);
  }
  void indexed_block(MPI_Datatype child, MPI_Datatype& type) {
    const auto count = static_cast<std::size_t>(below(4));
    const int size = static_cast<int>(count), length = below(3);
    if (below(2) == 0) {
      MPI_Type_create_indexed_block(size, length, numbers(count, -4, 9).data(), child, &type);
    } else {
      MPI_Type_create_hindexed_block(size, length, addresses(count).data(), child, &type);
    }
  }
  void structure(int depth, MPI_Datatype child, MPI_Datatype& type) {
    const std::array<MPI_Datatype, 3> types = {child, below(2) == 0 ? leaf() : usable(random(depth - 1)), leaf()};
    const int count = below(4);
    MPI_Type_create_struct(count, numbers(3, 0, 2).data(), addresses(3).data(), types.data(), &type);
  }
  void subarray(MPI_Datatype child, MPI_Datatype& type) {
    std::vector<int> sizes, lengths, starts;
    for (int left = between(1, 3); left > 0; --left) {
      sizes.push_back(between(1, 4));
      lengths.push_back(between(1, sizes.back()));
      starts.push_back(between(0, sizes.back() - lengths.back()));
    }
    MPI_Type_create_subarray(static_cast<int>(sizes.size()), sizes.data(), lengths.data(), starts.data(), order(),
                             child, &type);
  }
  void distributed_array(MPI_Datatype child, MPI_Datatype& type) {
    std::vector<int> sizes, kinds, arguments, processes;
    int all = 1;
    for (int left = between(1, 3); left > 0; --left) {
      const int kind = below(3);
      sizes.push_back(between(2, 7));
      kinds.push_back(kind == 0 ? MPI_DISTRIBUTE_NONE : kind == 1 ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC);
      processes.push_back(kind == 0 ? 1 : between(1, 2));
      arguments.push_back(kind == 2 && below(2) == 0 ? between(1, 2) : MPI_DISTRIBUTE_DFLT_DARG);
      all *= processes.back();
    }
    MPI_Type_create_darray(all, below(all), static_cast<int>(sizes.size()), sizes.data(), kinds.data(),
                           arguments.data(), processes.data(), order(), child, &type);
  }
  void fortran(MPI_Datatype& type) {
    MPI_Datatype number = MPI_DATATYPE_NULL;
    if (below(2) == 0) {
      MPI_Type_create_f90_integer(between(2, 17), &number);
    } else {
      MPI_Type_create_f90_real(between(2, 14), MPI_UNDEFINED, &number);
    }
    MPI_Type_contiguous(2, number, &type);
  }
  void large(MPI_Datatype child, MPI_Datatype& type) {
#if MPI_VERSION >= 4
    const std::array<MPI_Count, 3> lengths = {below(3), below(3), below(3)};
    const std::array<MPI_Count, 3> places = {8 * below(20), 8 * below(20), 8 * below(20)};
    const std::array<MPI_Datatype, 3> types = {child, leaf(), leaf()};
    const std::array<MPI_Count, 2> sizes = {3, 4}, parts = {2, 3}, starts = {1, 0};
    switch (below(8)) {
      case 0: MPI_Type_contiguous_c(below(4), child, &type); break;
      case 1: MPI_Type_vector_c(below(4), below(3), between(-3, 5), child, &type); break;
      case 2: MPI_Type_create_hvector_c(below(4), below(3), 8 * between(-9, 20), child, &type); break;
      case 3: MPI_Type_create_hindexed_c(3, lengths.data(), places.data(), child, &type); break;
      case 4: MPI_Type_create_struct_c(3, lengths.data(), places.data(), types.data(), &type); break;
      case 5: MPI_Type_create_subarray_c(2, sizes.data(), parts.data(), starts.data(), order(), child, &type); break;
      case 6: MPI_Type_create_hindexed_block_c(3, below(3), places.data(), child, &type); break;
      default: MPI_Type_create_resized_c(child, 8 * between(-3, 3), 8 * between(1, 30), &type); break;
    }
#else
    MPI_Type_dup(child, &type);
#endif
  }
  /// MPICH 4.0.2 was seen to divide by zero when it packs a type with parts that have no data or no extent.
  MPI_Datatype usable(MPI_Datatype child) {
#ifdef MPICH_VERSION
    int bytes = 0;
    MPI_Aint lower = 0, extent = 0;
    MPI_Type_size(child, &bytes);
    MPI_Type_get_extent(child, &lower, &extent);
    return bytes == 0 || extent == 0 ? leaf() : child;
#else
    return child;
#endif
  }
  int order() { return below(2) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN; }

  std::mt19937 random_;
  std::vector<MPI_Datatype> made_;
};

std::vector<char> packed_by_host(MPI_Datatype type, int count, char* base) {
  int bytes = 0, at = 0;
  MPI_Pack_size(count, type, MPI_COMM_SELF, &bytes);
  std::vector<char> data(static_cast<std::size_t>(bytes) + 64);
  MPI_Pack(base, count, type, data.data(), static_cast<int>(data.size()), &at, MPI_COMM_SELF);
  data.resize(static_cast<std::size_t>(at));
  return data;
}

std::vector<char> packed_by_us(const window::Layout& layout, int count, const char* base) {
  std::vector<char> data;
  for (Cursor cursor(layout, count); !cursor.at_end(); cursor.advance(cursor.run().bytes)) {
    data.insert(data.end(), base + cursor.run().offset,
                base + cursor.run().offset + static_cast<std::ptrdiff_t>(cursor.run().bytes));
  }
  return data;
}

/// Open MPI 4.1.4 was seen to pack the copies of a type side by side, as if it were contiguous, where its true extent
/// is its size: also where its parts overlap, and where a part without data makes the extent longer.
bool host_is_wrong(MPI_Datatype type, const window::Layout& layout, int count) {
#ifdef OPEN_MPI
  MPI_Aint lower = 0, extent = 0;
  MPI_Type_get_true_extent(type, &lower, &extent);
  return static_cast<std::size_t>(extent) == layout.bytes() && !layout.contiguous(count);
#else
  static_cast<void>(type), static_cast<void>(layout), static_cast<void>(count);
  return false;
#endif
}

class TypesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    memory_.resize(kRoom);
    std::mt19937 random(7);
    for (char& byte : memory_) byte = static_cast<char>(random());
  }
  char* base() { return memory_.data() + kRoom / 2; }
  bool fits(const window::Layout& layout, int count) const {
    const Extent bounds = layout.bounds(count);
    const auto half = static_cast<std::int64_t>(kRoom / 2);
    return bounds.low >= -half && bounds.high <= half && layout.bytes() * static_cast<std::size_t>(count) < kRoom;
  }

  std::vector<char> memory_;
};

TEST_F(TypesTest, RandomTypesPackAsTheHostPacksThem) {
  const char* const wanted = std::getenv("GRAPNEL_TEST_SEEDS");
  const std::uint32_t seeds = wanted != nullptr ? static_cast<std::uint32_t>(std::atoi(wanted)) : 2000;
  std::uint32_t compared = 0;
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(seed);
    Types types(seed);
    MPI_Datatype type = types.random(types.between(1, 4));
    MPI_Type_commit(&type);
    const window::Layout* const layout = layout_of(type);
    ASSERT_NE(layout, nullptr);
    const int count = types.below(4);
    MPI_Count bytes = 0;
    MPI_Type_size_x(type, &bytes);
    ASSERT_EQ(layout->bytes(), static_cast<std::size_t>(bytes));
    if (bytes == 0 || count == 0) continue;
    if (!fits(*layout, count) || host_is_wrong(type, *layout, count)) continue;
    ASSERT_EQ(packed_by_us(*layout, count, base()), packed_by_host(type, count, base()));
    ++compared;
  }
  EXPECT_GT(compared, seeds / 3);
}

TEST_F(TypesTest, ALayoutIsMadeOnceAndEndsWithItsType) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(3, 2, 5, MPI_INT, &type);
  MPI_Type_commit(&type);
  const window::Layout* const layout = layout_of(type);
  EXPECT_EQ(layout_of(type), layout);
  EXPECT_EQ(layout->number(), NumberType::int32);
  EXPECT_TRUE(layout->as_strided(4));
  MPI_Type_free(&type);
  // The next type may have the handle of the last: it must not have its layout.
  for (int round = 1; round < 50; ++round) {
    MPI_Type_contiguous(round, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    EXPECT_EQ(layout_of(type)->bytes(), 8u * static_cast<unsigned>(round));
    MPI_Type_free(&type);
  }
}

TEST_F(TypesTest, AbsoluteAddressesAreOffsetsFromNull) {
  std::array<int, 4> numbers{};
  std::array<MPI_Aint, 2> places{};
  MPI_Get_address(&numbers[3], &places[0]);
  MPI_Get_address(&numbers[1], &places[1]);
  const std::array<int, 2> lengths = {1, 1};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_hindexed(2, lengths.data(), places.data(), MPI_INT, &type);
  MPI_Type_commit(&type);
  Cursor cursor(*layout_of(type), 1);
  EXPECT_EQ(reinterpret_cast<int*>(cursor.run().offset), &numbers[3]);
  cursor.advance(4);
  EXPECT_EQ(reinterpret_cast<int*>(cursor.run().offset), &numbers[1]);
  MPI_Type_free(&type);
}

TEST_F(TypesTest, PredefinedTypesHaveTheHostsSizeAndExtent) {
  for (MPI_Datatype type : {MPI_CHAR,
                            MPI_BYTE,
                            MPI_WCHAR,
                            MPI_C_BOOL,
                            MPI_LONG_DOUBLE,
                            MPI_C_LONG_DOUBLE_COMPLEX,
                            MPI_AINT,
                            MPI_COUNT,
                            MPI_OFFSET,
                            MPI_FLOAT_INT,
                            MPI_DOUBLE_INT,
                            MPI_LONG_INT,
                            MPI_SHORT_INT,
                            MPI_2INT,
                            MPI_LONG_DOUBLE_INT,
                            MPI_LOGICAL,
                            MPI_INTEGER,
                            MPI_2INTEGER,
                            MPI_2REAL,
                            MPI_2DOUBLE_PRECISION,
                            MPI_COMPLEX,
                            MPI_DOUBLE_COMPLEX,
                            MPI_UINT16_T}) {
    int bytes = 0;
    MPI_Aint lower = 0, extent = 0;
    if (type == MPI_DATATYPE_NULL) continue;
    MPI_Type_size(type, &bytes);
    MPI_Type_get_extent(type, &lower, &extent);
    ASSERT_NE(predefined(type), nullptr);
    EXPECT_EQ(layout_of(type)->bytes(), static_cast<std::size_t>(bytes));
    EXPECT_EQ(layout_of(type)->extent(), extent);
    EXPECT_TRUE(layout_of(type)->number());
  }
  EXPECT_EQ(layout_of(MPI_DATATYPE_NULL), nullptr);
}

}  // namespace
}  // namespace grapnel::front

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  grapnel::front::open_types();
  const int failed = RUN_ALL_TESTS();
  MPI_Finalize();
  return failed;
}
