// Grapnel's C++ interface, for what a front end costs on top of it, and where a build has no front end. See peer.h.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "grapnel/runtime.hpp"
#include "peer.h"

namespace {

using grapnel::Rank;

constexpr Rank kTarget{1};

struct State {
  std::unique_ptr<grapnel::Runtime> runtime;
  grapnel::Memory memory;
};

State& state() {
  static State one;
  return one;
}

grapnel::Runtime& g() { return *state().runtime; }
char* remote(size_t offset) { return static_cast<char*>(state().memory.on(kTarget)) + offset; }

void must(const grapnel::Status& status) {
  if (!status.ok()) [[unlikely]]
    g().abort(1, status.to_string());
}

}  // namespace

int peer_start(int* /*argc*/, char*** /*argv*/) {
  auto started = grapnel::Runtime::start();
  if (!started) {
    std::fprintf(stderr, "core peer: %s\n", started.status().to_string().c_str());
    std::exit(1);
  }
  state().runtime = std::move(*started);
  if (g().size() != 2) g().abort(2, "a job of two ranks is wanted");
  must(g().create_locks(1));
  return static_cast<int>(g().rank());
}

void peer_finish() {
  must(g().destroy_locks());
  must(g().free(state().memory));
  must(g().finish());
  state().runtime.reset();
}

char* peer_allocate(size_t bytes) {
  auto memory = g().allocate(bytes);
  must(memory.status());
  state().memory = *memory;
  return static_cast<char*>(state().memory.local());
}

void peer_barrier() { must(g().barrier()); }

void peer_put(const void* local, size_t offset, size_t bytes) { must(g().put(local, remote(offset), bytes, kTarget)); }

void peer_put_rows(const void* local, size_t offset, const peer_rows* shape) {
  grapnel::Strided rows;
  rows.levels = 1;
  rows.count[0] = static_cast<std::int64_t>(shape->row_bytes);
  rows.count[1] = shape->rows;
  rows.stride[0] = static_cast<std::int64_t>(shape->stride);
  must(g().put(local, rows, remote(offset), rows, kTarget));
}

void peer_accumulate(const void* local, size_t offset, size_t bytes) {
  const double one = 1;
  must(g().accumulate(grapnel::ElementType::float64, &one, local, remote(offset), bytes, kTarget));
}

void peer_fence() { must(g().fence(kTarget)); }

void peer_get(void* local, size_t offset, size_t bytes) { must(g().get(remote(offset), local, bytes, kTarget)); }

int64_t peer_fetch_and_add(size_t offset, int64_t increment) {
  const auto old = g().fetch_and_add(remote(offset), increment, grapnel::Width::bits64, kTarget);
  must(old.status());
  return *old;
}

void peer_lock() { must(g().lock(0, kTarget)); }
void peer_unlock() { must(g().unlock(0, kTarget)); }
