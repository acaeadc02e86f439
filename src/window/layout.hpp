// What one element of a datatype covers: an immutable tree of runs, without a type of MPI's.
//
//   sequence {0: run of 8 float64, 128: repeat 3 every 32 {run of 2 float64}}
//
//   8 float64                                                       2         2         2
//   0·······64                                                      128·144   160·176   192·208
//
// The data order of a layout is the order of the tree from the left: the order in which MPI_Pack packs. A target's and
// an origin's layout describe one transfer where their data bytes are equal; the two are walked side by side, each by a
// Cursor.
//
// Equal neighbours are joined when the tree is made: a vector without gaps is a run, an indexed layout with regular
// distances is a repeat. So `as_strided` finds a shape wherever there is one chain of repeats.
// Threads: any; a layout never changes.
// Cost: a factory: one allocation, and its parts' length. A cursor: one allocation, some ns for each run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "grapnel/reduction.hpp"
#include "grapnel/shape.hpp"

namespace grapnel::window {

class Layout;
using LayoutPointer = std::shared_ptr<const Layout>;

/// `data`: the bytes that hold data, for put and get. `elements`: each element from its first byte to its last with its
/// gaps, for accumulates: a pair of an int16 and its place is 8 bytes there, and 6 bytes of data in two runs. Where a
/// layout has no number, the two are the same but for its pairs.
enum class Walk : std::uint8_t { data, elements };

/// Bytes in a row, relative to the buffer's address.
struct Run {
  std::int64_t offset = 0;
  std::size_t bytes = 0;
};

/// A shape whose first row begins at `offset`.
struct StridedRun {
  std::int64_t offset = 0;
  Strided shape;
};

class Layout {
 public:
  struct Part {
    std::int64_t offset = 0;
    LayoutPointer layout;
  };

  /// One number, a pair as C lays it out.
  static LayoutPointer element(NumberType number);
  /// Bytes that are no numbers.
  static LayoutPointer raw_bytes(std::size_t bytes);
  /// `count` copies, the next one `stride` bytes behind; negative and overlapping strides are allowed. A count of 0 or
  /// less, or a child without data, is a layout without data.
  static LayoutPointer repeat(const LayoutPointer& child, std::int64_t count, std::int64_t stride);
  /// Parts in data order; those without data are left out.
  static LayoutPointer sequence(std::vector<Part> parts);
  /// The same data with another distance between copies. The other factories give `upper() - lower()`.
  static LayoutPointer resized(const LayoutPointer& child, std::int64_t extent);

  /// Of data in one copy.
  std::size_t bytes() const { return bytes_; }
  /// From a copy to the next.
  std::int64_t extent() const { return extent_; }
  /// What one copy touches, in elements with their gaps: [lower, upper). Both 0 where it has no data.
  std::int64_t lower() const { return lower_; }
  std::int64_t upper() const { return upper_; }
  /// What `count` copies touch.
  Extent bounds(std::int64_t count) const;
  /// The type of all elements; none where they differ, or are bytes.
  std::optional<NumberType> number() const { return number_; }
  /// Of an element with its gaps; 1 where there is no number.
  std::size_t element_bytes() const { return element_bytes_; }
  /// Elements in one copy; bytes where there is no number.
  std::size_t elements() const { return elements_; }
  /// What a walk over one copy yields.
  std::size_t walked_bytes(Walk walk) const { return walk == Walk::data ? bytes_ : elements_ * element_bytes_; }

  /// The one run that `count` copies are. None where they are more, or hold no data.
  std::optional<Run> contiguous(std::int64_t count, Walk walk = Walk::data) const {
    const Run& one = whole_[static_cast<std::size_t>(walk)];
    if (count <= 0 || one.bytes == 0) return std::nullopt;
    if (count != 1 && static_cast<std::int64_t>(one.bytes) != extent_) return std::nullopt;
    return Run{one.offset, one.bytes * static_cast<std::size_t>(count)};
  }
  /// `count` copies as a shape. None where the tree branches, is deeper than Strided::kMaxLevels, or holds no data.
  std::optional<StridedRun> as_strided(std::int64_t count, Walk walk = Walk::data) const;

 private:
  friend class Cursor;
  enum class Kind : std::uint8_t { run, repeat, sequence };

  Layout() = default;
  static LayoutPointer run(std::optional<NumberType> number, std::size_t elements);
  static LayoutPointer empty() { return run({}, 0); }
  static bool are_alike(const Layout& a, const Layout& b);
  static void join_neighbours(std::vector<Part>& parts);
  static void join_regular(std::vector<Part>& parts);
  void set_bounds(std::int64_t lower, std::int64_t upper);
  void add_up(const std::vector<Part>& parts);
  void find_whole();
  bool has_gaps() const;                ///< a run of elements whose data is not in one piece
  std::int64_t steps(Walk walk) const;  ///< of a cursor in this node
  Run run_of(std::int64_t step, Walk walk) const;
  std::int64_t offset_of(std::int64_t step) const;
  const Layout& child_of(std::int64_t step) const;
  bool add_levels(StridedRun& found, Walk walk) const;

  Kind kind_ = Kind::run;
  std::optional<NumberType> number_;
  std::size_t bytes_ = 0, elements_ = 0, element_bytes_ = 1;
  std::int64_t extent_ = 0, lower_ = 0, upper_ = 0;
  Run whole_[2];  ///< by Walk: one copy as one run; no bytes where it is none
  std::size_t depth_ = 1;
  std::int64_t count_ = 0, stride_ = 0;             ///< of a repeat
  std::shared_ptr<const std::vector<Part>> parts_;  ///< of a sequence; the one child of a repeat
};

/// Walks `count` copies in data order; runs that touch are one.
///
///   for (Cursor cursor(layout, count); !cursor.at_end(); cursor.advance(n)) { … cursor.run(), 0 < n ≤ its bytes … }
///
/// The layout must outlive it.
class Cursor {
 public:
  Cursor(const Layout& layout, std::int64_t count, Walk walk = Walk::data);

  bool at_end() const { return run_.bytes == 0; }
  /// What is left of the run.
  const Run& run() const { return run_; }
  /// At most `run().bytes`.
  void advance(std::size_t bytes);

 private:
  struct Frame {
    const Layout* layout;
    std::int64_t base, next;
  };
  bool find(Run& found);
  void read_ahead();

  const Layout* layout_;
  Walk walk_;
  std::int64_t copies_, copy_ = 0;
  std::vector<Frame> frames_;
  Run run_, ahead_;
};

}  // namespace grapnel::window
