// SPDX-License-Identifier: Apache-2.0
#include "selftest/operations.hpp"

#include "selftest/shaped.hpp"
#include "selftest/words.hpp"

namespace grapnel::tool::selftest {
namespace {

constexpr std::size_t kSmall = 8, kMiddle = 64 << 10;
constexpr std::size_t kPlace = 24;  // of the small ones in the slot

// --- contiguous ---

template <std::size_t bytes>
Status put(Scene& scene) {
  const Rank target = *scene.target();
  GRAPNEL_TRY(scene.runtime().put(scene.source(), scene.slot_of(target) + kPlace, bytes, target));
  return scene.runtime().fence(target);
}

template <std::size_t bytes>
Status get(Scene& scene) {
  return scene.runtime().get(scene.slot_of(*scene.target()) + kPlace, scene.room(), bytes, *scene.target());
}

template <std::size_t bytes>
Status accumulate(Scene& scene) {
  const Rank target = *scene.target();
  const std::int64_t scale = 3;
  GRAPNEL_TRY(scene.runtime().accumulate(ElementType::int64, &scale, scene.source(), scene.slot_of(target) + kPlace,
                                         bytes, target));
  return scene.runtime().fence(target);
}

template <Status (*once)(Scene&)>
Status with_target(Scene& scene) {
  return scene.target() ? once(scene) : Status{};
}

template <std::size_t bytes>
Status get_and_compare(Scene& scene) {
  if (!scene.target()) return {};
  GRAPNEL_TRY(get<bytes>(scene));
  Bytes expected(bytes);
  for (std::size_t i = 0; i < bytes; ++i) expected[i] = ground(*scene.target(), kPlace + i);
  return scene.compare(scene.room(), expected.data(), bytes, "what was got");
}

template <std::size_t bytes>
void expect_put(Rank origin, Rank, std::byte* slot) {
  for (std::size_t i = 0; i < bytes; ++i) slot[kPlace + i] = ink(origin, i);
}

template <std::size_t bytes>
void expect_sum(Rank origin, Rank, std::byte* slot) {
  for (std::size_t i = 0; i < bytes; i += sizeof(std::int64_t)) add_ink(origin, i, 3, slot + kPlace + i);
}

constexpr TriedOperation kOperations[] = {
    {"put", "put", "contiguous", kSmall, kSmall, with_target<put<kSmall>>, expect_put<kSmall>, put<kSmall>},
    {"put", "put", "contiguous", kBulkBytes, kBulkBytes, with_target<put<kBulkBytes>>, expect_put<kBulkBytes>,
     put<kBulkBytes>},
    {"get", "get", "contiguous", kSmall, kSmall, get_and_compare<kSmall>, nullptr, get<kSmall>},
    {"get", "get", "contiguous", kBulkBytes, kBulkBytes, get_and_compare<kBulkBytes>, nullptr, get<kBulkBytes>},
    {"accumulate", "accumulate", "contiguous", kSmall, kSmall, with_target<accumulate<kSmall>>, expect_sum<kSmall>,
     accumulate<kSmall>},
    {"accumulate", "accumulate", "contiguous", kMiddle, kMiddle, with_target<accumulate<kMiddle>>, expect_sum<kMiddle>,
     accumulate<kMiddle>},
    {"strided put, short rows", "put", "strided", kShortRows.row, kShortRows.bytes(), put_strided<kShortRows>,
     expect_strided<kShortRows>, put_strided<kShortRows>},
    {"strided put, long rows", "put", "strided", kLongRows.row, kLongRows.bytes(), put_strided<kLongRows>,
     expect_strided<kLongRows>, put_strided<kLongRows>},
    {"strided get, short rows", "get", "strided", kShortRows.row, kShortRows.bytes(),
     get_strided_and_compare<kShortRows>, nullptr, get_strided<kShortRows>},
    {"strided get, long rows", "get", "strided", kLongRows.row, kLongRows.bytes(), get_strided_and_compare<kLongRows>,
     nullptr, get_strided<kLongRows>},
    {"strided accumulate", "accumulate", "strided", kShortRows.row, kShortRows.bytes(), accumulate_strided,
     expect_strided_sum, accumulate_strided},
    {"vector put", "put", "vector", 0, vector_bytes(), put_vector, expect_vector, put_vector},
    {"vector get", "get", "vector", 0, vector_bytes(), get_vector_and_compare, nullptr, get_vector},
    {"vector accumulate", "accumulate", "vector", 0, vector_bytes(), accumulate_vector, expect_vector_sum,
     accumulate_vector},
    {"fetch-and-add, swap, compare", "read-modify-write", "contiguous", 8, 8, all_rmw, expect_rmw, fetch_and_add},
    {"update (maximum)", "update", "contiguous", 8, 8, update_maximum, expect_maximum, fetch_and_update},
    {"notify", nullptr, nullptr, 0, 0, put_and_notify, expect_notified, notify_and_wait, true},
    {"put and signal", nullptr, nullptr, 0, 8, put_and_signal, expect_signal, put_with_signal},
    {"lock and unlock", nullptr, nullptr, 0, 0, add_under_lock, expect_locked, lock_and_unlock},
};

}  // namespace

std::span<const TriedOperation> operations() { return kOperations; }

}  // namespace grapnel::tool::selftest
