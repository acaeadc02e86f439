// Walking over the rows of a strided place, and packing it.
//
// The iterator counts like an odometer: itr[0] is the fastest digit, its base seg_count[1]. It needs no start-up and no
// memory, so it works before ARMCI_Init too.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstring>

#include "api/armci/define.hpp"
#include "api/armci/errors.hpp"

using grapnel::Code;
using grapnel::Status;
using namespace grapnel::armci;

namespace grapnel::armci {
namespace {

constexpr std::int64_t kMostRows = INT_MAX;  // stride_info_t has an int for them

void initialize(const char* call, stride_info_t* info, void* base, int levels, const int* stride, const int* counts) {
  if (levels < 0 || levels > ARMCI_MAX_STRIDE_LEVEL) {
    stop(call, Status(Code::invalid_argument,
                      fmt::format("levels is {}; 0..{} are possible", levels, ARMCI_MAX_STRIDE_LEVEL)));
  }
  if (info == nullptr) stop(call, null_pointer("info"));
  if (counts == nullptr) stop(call, null_pointer("counts"));
  if (levels > 0 && stride == nullptr) stop(call, null_pointer("stride"));
  *info = {};
  info->base_ptr = static_cast<char*>(base);
  info->stride_levels = levels;
  std::int64_t rows = 1;
  info->seg_count[0] = counts[0];
  for (int level = 0; level < levels; ++level) {
    if (counts[level + 1] < 0) stop(call, negative("a count", counts[level + 1]));
    info->stride_arr[level] = stride[level];
    info->seg_count[level + 1] = counts[level + 1];
    rows = std::min(rows * counts[level + 1], kMostRows + 1);  // none at all where a later count is 0
  }
  if (rows > kMostRows) {
    stop(call, Status(Code::invalid_argument, fmt::format("there are more than {} rows", kMostRows)));
  }
  info->size = static_cast<int>(rows);
  if (counts[0] < 0) stop(call, negative("counts[0]", counts[0]));
}

stride_info_t& given(const char* call, stride_info_t* info) {
  if (info == nullptr) stop(call, null_pointer("info"));
  return *info;
}

long offset_of(const stride_info_t& info) {
  long offset = 0;
  for (int level = 0; level < info.stride_levels; ++level) {
    offset += static_cast<long>(info.itr[level]) * info.stride_arr[level];
  }
  return offset;
}

void advance(stride_info_t& info) {
  if (info.pos >= info.size) return;
  ++info.pos;
  for (int level = 0; level < info.stride_levels; ++level) {
    if (++info.itr[level] < info.seg_count[level + 1]) return;
    info.itr[level] = 0;
  }
}

/// Calls `copy(row, packed)` for every row.
template <typename Copy>
void for_each_row(const char* call, void* place, int levels, const int* stride, const int* counts, char* packed,
                  Copy copy) {
  stride_info_t info;
  for (initialize(call, &info, place, levels, stride, counts); info.pos < info.size; advance(info)) {
    copy(info.base_ptr + offset_of(info), packed, static_cast<std::size_t>(counts[0]));
    packed += counts[0];
  }
}

}  // namespace
}  // namespace grapnel::armci

ARMCI_DEFINE_LOWER(void, stride_info_init,
                   (stride_info_t * info, void* base, int levels, const int* stride, const int* counts)) {
  initialize("armci_stride_info_init", info, base, levels, stride, counts);
}
ARMCI_DEFINE_LOWER(void, stride_info_destroy, (stride_info_t * info)) { given("armci_stride_info_destroy", info) = {}; }
ARMCI_DEFINE_LOWER(int, stride_info_size, (stride_info_t * info)) { return given("armci_stride_info_size", info).size; }
ARMCI_DEFINE_LOWER(int, stride_info_count, (stride_info_t * info)) {
  return given("armci_stride_info_count", info).size;
}
ARMCI_DEFINE_LOWER(int, stride_info_pos, (stride_info_t * info)) { return given("armci_stride_info_pos", info).pos; }
ARMCI_DEFINE_LOWER(int, stride_info_has_more, (stride_info_t * info)) {
  const stride_info_t& walk = given("armci_stride_info_has_more", info);
  return walk.pos < walk.size ? 1 : 0;
}
ARMCI_DEFINE_LOWER(void, stride_info_next, (stride_info_t * info)) { advance(given("armci_stride_info_next", info)); }
ARMCI_DEFINE_LOWER(void*, stride_info_seg_ptr, (stride_info_t * info)) {
  const stride_info_t& walk = given("armci_stride_info_seg_ptr", info);
  return walk.base_ptr + offset_of(walk);
}
ARMCI_DEFINE_LOWER(int, stride_info_seg_size, (stride_info_t * info)) {
  return given("armci_stride_info_seg_size", info).seg_count[0];
}
ARMCI_DEFINE_LOWER(int, stride_info_seg_off, (stride_info_t * info)) {
  return static_cast<int>(offset_of(given("armci_stride_info_seg_off", info)));
}

ARMCI_DEFINE_LOWER(void, write_strided, (void* place, int levels, int* stride, int* counts, char* buffer)) {
  for_each_row("armci_write_strided", place, levels, stride, counts, buffer,
               [](char* row, char* packed, std::size_t bytes) { std::memcpy(packed, row, bytes); });
}

ARMCI_DEFINE_LOWER(void, read_strided, (void* place, int levels, int* stride, int* counts, char* buffer)) {
  for_each_row("armci_read_strided", place, levels, stride, counts, buffer,
               [](char* row, char* packed, std::size_t bytes) { std::memcpy(row, packed, bytes); });
}
