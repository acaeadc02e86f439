// What an event of the worker's epoll descriptor belongs to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/epoll.h>

#include <cstdint>

namespace grapnel::transport::local {

enum class Source : std::uint32_t { wake, listener, unknown, connection };

inline epoll_event event_of(std::uint32_t events, Source source, std::uint32_t index = 0) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = (static_cast<std::uint64_t>(source) << 32) | index;
  return event;
}
inline Source source_of(const epoll_event& event) { return static_cast<Source>(event.data.u64 >> 32); }
inline std::uint32_t index_of(const epoll_event& event) { return static_cast<std::uint32_t>(event.data.u64); }

}  // namespace grapnel::transport::local
