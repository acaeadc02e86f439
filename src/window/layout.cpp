// SPDX-License-Identifier: Apache-2.0
#include "window/layout.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.hpp"

namespace grapnel::window {
namespace {

/// How an element lies in memory: its bytes with gaps, and the one or two runs of its data.
struct Form {
  std::size_t bytes = 0;
  std::size_t first = 0;                  ///< bytes of the first run, which begins at 0
  std::size_t second_at = 0, second = 0;  ///< none: 0
};

template <typename Value, typename Index>
constexpr Form form_of_pair() {
  struct Pair {
    Value value;
    Index index;
  };
  constexpr std::size_t at = offsetof(Pair, index);
  if (at == sizeof(Value)) return {sizeof(Pair), sizeof(Value) + sizeof(Index), 0, 0};
  return {sizeof(Pair), sizeof(Value), at, sizeof(Index)};
}

constexpr Form form_of(NumberType number) {
  const auto plain = [](std::size_t bytes) { return Form{bytes, bytes, 0, 0}; };
  switch (number) {
    case NumberType::int8:
    case NumberType::uint8: return plain(1);
    case NumberType::int16:
    case NumberType::uint16: return plain(2);
    case NumberType::int32:
    case NumberType::uint32:
    case NumberType::float32: return plain(4);
    case NumberType::int64:
    case NumberType::uint64:
    case NumberType::float64:
    case NumberType::complex64: return plain(8);
    case NumberType::long_double: return plain(sizeof(long double));
    case NumberType::complex128: return plain(16);
    case NumberType::complex_long_double: return plain(2 * sizeof(long double));
    case NumberType::int16_with_place: return form_of_pair<std::int16_t, std::int32_t>();
    case NumberType::int32_with_place: return form_of_pair<std::int32_t, std::int32_t>();
    case NumberType::int64_with_place: return form_of_pair<std::int64_t, std::int32_t>();
    case NumberType::float32_with_place: return form_of_pair<float, std::int32_t>();
    case NumberType::float64_with_place: return form_of_pair<double, std::int32_t>();
    case NumberType::long_double_with_place: return form_of_pair<long double, std::int32_t>();
    case NumberType::float32_pair: return form_of_pair<float, float>();
    case NumberType::float64_pair: return form_of_pair<double, double>();
  }
  return plain(1);
}

constexpr Form form_of(std::optional<NumberType> number) { return number ? form_of(*number) : Form{1, 1, 0, 0}; }

constexpr std::int64_t to_signed(std::size_t value) { return static_cast<std::int64_t>(value); }

}  // namespace

LayoutPointer Layout::run(std::optional<NumberType> number, std::size_t elements) {
  const Form form = form_of(number);
  const std::shared_ptr<Layout> made(new Layout);
  made->number_ = number;
  made->elements_ = elements;
  made->element_bytes_ = form.bytes;
  made->bytes_ = elements * (form.first + form.second);
  made->set_bounds(0, to_signed(elements * form.bytes));
  made->find_whole();
  return made;
}

LayoutPointer Layout::element(NumberType number) { return run(number, 1); }

LayoutPointer Layout::raw_bytes(std::size_t bytes) { return run({}, bytes); }

void Layout::set_bounds(std::int64_t lower, std::int64_t upper) {
  lower_ = lower;
  upper_ = upper;
  extent_ = upper - lower;
}

LayoutPointer Layout::resized(const LayoutPointer& child, std::int64_t extent) {
  if (child->extent_ == extent) return child;
  const std::shared_ptr<Layout> made(new Layout(*child));
  made->extent_ = extent;
  return made;
}

LayoutPointer Layout::repeat(const LayoutPointer& child, std::int64_t count, std::int64_t stride) {
  if (count <= 0 || child->bytes_ == 0) return empty();
  if (count == 1) return resized(child, child->upper_ - child->lower_);
  const bool is_run = child->kind_ == Kind::run;
  if (is_run && stride == child->upper_) return run(child->number_, child->elements_ * static_cast<std::size_t>(count));
  const std::shared_ptr<Layout> made(new Layout);
  made->kind_ = Kind::repeat;
  made->number_ = child->number_;
  made->element_bytes_ = child->element_bytes_;
  made->elements_ = child->elements_ * static_cast<std::size_t>(count);
  made->bytes_ = child->bytes_ * static_cast<std::size_t>(count);
  const std::int64_t last = (count - 1) * stride;
  made->set_bounds(child->lower_ + std::min<std::int64_t>(last, 0), child->upper_ + std::max<std::int64_t>(last, 0));
  made->depth_ = child->depth_ + 1;
  made->count_ = count;
  made->stride_ = stride;
  made->parts_ = std::make_shared<const std::vector<Part>>(1, Part{0, child});
  return made;
}

/// Whether both are the same run. False also for equal trees that were made apart: it does not walk them.
bool Layout::are_alike(const Layout& a, const Layout& b) {
  if (&a == &b) return true;
  return a.kind_ == Kind::run && b.kind_ == Kind::run && a.number_ == b.number_ && a.elements_ == b.elements_;
}

void Layout::join_neighbours(std::vector<Part>& parts) {
  std::size_t kept = 0;
  for (std::size_t at = 1; at < parts.size(); ++at) {
    const Layout& before = *parts[kept].layout;
    const Layout& next = *parts[at].layout;
    const bool runs = before.kind_ == Kind::run && next.kind_ == Kind::run && before.number_ == next.number_;
    if (runs && parts[kept].offset + before.upper_ == parts[at].offset) {
      parts[kept].layout = run(before.number_, before.elements_ + next.elements_);
    } else {
      parts[++kept] = std::move(parts[at]);
    }
  }
  parts.resize(kept + 1);
}

/// Three or more like parts at regular distances are one repeat.
void Layout::join_regular(std::vector<Part>& parts) {
  if (parts.size() < 3) return;
  const std::int64_t stride = parts[1].offset - parts[0].offset;
  for (std::size_t at = 1; at < parts.size(); ++at) {
    if (parts[at].offset - parts[at - 1].offset != stride || !are_alike(*parts[at].layout, *parts[0].layout)) return;
  }
  parts.front().layout = repeat(parts.front().layout, to_signed(parts.size()), stride);
  parts.resize(1);
}

void Layout::add_up(const std::vector<Part>& parts) {
  number_ = parts.front().layout->number_;
  std::int64_t lower = parts.front().offset + parts.front().layout->lower_;
  std::int64_t upper = parts.front().offset + parts.front().layout->upper_;
  for (const Part& part : parts) {
    if (part.layout->number_ != number_) number_.reset();
    bytes_ += part.layout->bytes_;
    elements_ += part.layout->elements_;
    lower = std::min(lower, part.offset + part.layout->lower_);
    upper = std::max(upper, part.offset + part.layout->upper_);
    depth_ = std::max(depth_, part.layout->depth_ + 1);
  }
  set_bounds(lower, upper);
  element_bytes_ = form_of(number_).bytes;
  if (!number_) elements_ = bytes_;
}

/// Of a run, or a sequence of one part; every other tree is more runs than one.
void Layout::find_whole() {
  for (const Walk walk : {Walk::data, Walk::elements}) {
    Run& whole = whole_[static_cast<std::size_t>(walk)];
    if (kind_ == Kind::run) {
      if (steps(walk) == 1) whole = run_of(0, walk);
    } else if (const auto one = parts_->front().layout->contiguous(1, walk); one && parts_->size() == 1) {
      whole = {parts_->front().offset + one->offset, one->bytes};
    }
  }
}

LayoutPointer Layout::sequence(std::vector<Part> parts) {
  std::erase_if(parts, [](const Part& part) { return part.layout->bytes_ == 0; });
  if (parts.empty()) return empty();
  join_neighbours(parts);
  join_regular(parts);
  if (parts.size() == 1 && parts.front().offset == 0) return repeat(parts.front().layout, 1, 0);
  const std::shared_ptr<Layout> made(new Layout);
  made->kind_ = Kind::sequence;
  made->add_up(parts);
  made->parts_ = std::make_shared<const std::vector<Part>>(std::move(parts));
  made->find_whole();
  return made;
}

Extent Layout::bounds(std::int64_t count) const {
  if (count <= 0 || bytes_ == 0) return {};
  const std::int64_t last = (count - 1) * extent_;
  return {lower_ + std::min<std::int64_t>(last, 0), upper_ + std::max<std::int64_t>(last, 0)};
}

bool Layout::has_gaps() const { return bytes_ != elements_ * element_bytes_; }

std::int64_t Layout::steps(Walk walk) const {
  if (kind_ == Kind::repeat) return count_;
  if (kind_ == Kind::sequence) return to_signed(parts_->size());
  if (walk == Walk::elements || !has_gaps()) return 1;
  return to_signed(elements_) * (form_of(number_).second != 0 ? 2 : 1);
}

Run Layout::run_of(std::int64_t step, Walk walk) const {
  if (walk == Walk::elements || !has_gaps()) return {0, elements_ * element_bytes_};
  const Form form = form_of(number_);
  if (form.second == 0) return {step * to_signed(form.bytes), form.first};
  const std::int64_t element = step / 2 * to_signed(form.bytes);
  if (step % 2 == 0) return {element, form.first};
  return {element + to_signed(form.second_at), form.second};
}

std::int64_t Layout::offset_of(std::int64_t step) const {
  return kind_ == Kind::repeat ? step * stride_ : (*parts_)[static_cast<std::size_t>(step)].offset;
}

const Layout& Layout::child_of(std::int64_t step) const {
  return *(*parts_)[kind_ == Kind::repeat ? 0 : static_cast<std::size_t>(step)].layout;
}

/// From the outermost level inwards, to be turned round by `as_strided`; count[0] last of all.
bool Layout::add_levels(StridedRun& found, Walk walk) const {
  Strided& shape = found.shape;
  for (const Layout* node = this;; node = &node->child_of(0)) {
    if (node->kind_ == Kind::sequence) {
      if (node->parts_->size() != 1) return false;
      found.offset += node->parts_->front().offset;
      continue;
    }
    const std::int64_t count = node->steps(walk);
    const bool is_run = node->kind_ == Kind::run;
    if (count > 1) {
      if (shape.levels == Strided::kMaxLevels || (is_run && form_of(node->number_).second != 0)) return false;
      shape.count[shape.levels] = count;
      shape.stride[shape.levels++] = is_run ? to_signed(node->element_bytes_) : node->stride_;
    }
    if (!is_run) continue;
    const Run row = node->run_of(0, walk);
    shape.count[shape.levels] = to_signed(row.bytes);
    return true;
  }
}

std::optional<StridedRun> Layout::as_strided(std::int64_t count, Walk walk) const {
  if (count <= 0 || bytes_ == 0) return std::nullopt;
  StridedRun found;
  if (count > 1) {
    found.shape.levels = 1;
    found.shape.count[0] = count;
    found.shape.stride[0] = extent_;
  }
  if (!add_levels(found, walk)) return std::nullopt;
  GRAPNEL_ASSERT(found.shape.levels <= Strided::kMaxLevels, "{} levels", found.shape.levels);
  std::reverse(found.shape.count, found.shape.count + found.shape.levels + 1);
  std::reverse(found.shape.stride, found.shape.stride + found.shape.levels);
  return found;
}

Cursor::Cursor(const Layout& layout, std::int64_t count, Walk walk)
    : layout_(&layout), walk_(walk), copies_(layout.bytes() != 0 ? count : 0) {
  if (const auto whole = layout.contiguous(count, walk)) {
    run_ = *whole;
    copies_ = 0;
    return;
  }
  frames_.reserve(layout.depth_ + 1);
  if (find(ahead_)) read_ahead();
}

void Cursor::advance(std::size_t bytes) {
  GRAPNEL_ASSERT(bytes <= run_.bytes, "{} bytes of a run of {}", bytes, run_.bytes);
  run_.offset += to_signed(bytes);
  run_.bytes -= bytes;
  if (run_.bytes == 0) read_ahead();
}

/// `ahead_` and all that follow it without a gap become the run.
void Cursor::read_ahead() {
  run_ = std::exchange(ahead_, {});
  while (run_.bytes != 0 && find(ahead_)) {
    if (ahead_.offset != run_.offset + to_signed(run_.bytes)) return;
    run_.bytes += std::exchange(ahead_, {}).bytes;
  }
}

/// The next run as the tree has it.
bool Cursor::find(Run& found) {
  for (;;) {
    if (frames_.empty()) {
      if (copy_ >= copies_) return false;
      frames_.push_back({layout_, copy_++ * layout_->extent(), 0});
    }
    Frame& top = frames_.back();
    const std::int64_t step = top.next++;
    if (step == top.layout->steps(walk_)) {
      frames_.pop_back();
    } else if (top.layout->kind_ == Layout::Kind::run) {
      found = top.layout->run_of(step, walk_);
      found.offset += top.base;
      return true;
    } else {
      frames_.push_back({&top.layout->child_of(step), top.base + top.layout->offset_of(step), 0});
    }
  }
}

}  // namespace grapnel::window
