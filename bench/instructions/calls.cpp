// One call, COUNT times, by a job of one rank: what count.py counts the instructions of.
//
// usage: instruction_calls NAME COUNT        NAME: a row of `kCalls`
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "grapnel/runtime.hpp"

namespace {

using namespace grapnel;

struct Rig {
  Runtime& g;
  LockSet locks;
  Rank me;
  void* remote;
  double value = 1;
};

struct Call {
  std::string_view name;
  void (*repeat)(Rig& rig, long count);
};

// A loop of its own for each, so that nothing but the call and the loop is counted.
constexpr Call kCalls[] = {
    {"put/8B",
     [](Rig& rig, long count) {
       for (long i = 0; i < count; ++i) static_cast<void>(rig.g.put(&rig.value, rig.remote, 8, rig.me));
     }},
    {"get/8B",
     [](Rig& rig, long count) {
       for (long i = 0; i < count; ++i) static_cast<void>(rig.g.get(rig.remote, &rig.value, 8, rig.me));
     }},
    {"fetch_and_add",
     [](Rig& rig, long count) {
       for (long i = 0; i < count; ++i) static_cast<void>(rig.g.fetch_and_add(rig.remote, 1, Width::bits64, rig.me));
     }},
    {"lock_unlock/free",
     [](Rig& rig, long count) {
       for (long i = 0; i < count; ++i) {
         static_cast<void>(rig.locks.lock(0, rig.me));
         static_cast<void>(rig.locks.unlock(0, rig.me));
       }
     }},
    {"barrier/alone",
     [](Rig& rig, long count) {
       for (long i = 0; i < count; ++i) static_cast<void>(rig.g.barrier());
     }},
};

int fail(const Status& status) {
  std::fprintf(stderr, "instruction_calls: %s\n", status.to_string().c_str());
  return 1;
}

Status run(Runtime& g, const Call& call, long count) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto memory, g.allocate(4096));
  GRAPNEL_ASSIGN_OR_RETURN(const auto locks, g.create_lock_set(1));
  Rig rig{g, locks, g.rank(), memory.on(g.rank())};
  call.repeat(rig, count);
  return g.destroy_lock_set(locks);
}

}  // namespace

int main(int argc, char** argv) {
  const long count = argc == 3 ? std::atol(argv[2]) : 0;
  for (const Call& call : kCalls) {
    if (argc != 3 || call.name != argv[1]) continue;
    const auto started = Runtime::start();
    if (!started) return fail(started.status());
    if (const Status ran = run(**started, call, count); !ran.ok()) return fail(ran);
    const Status finished = (*started)->finish();
    return finished.ok() ? 0 : fail(finished);
  }
  for (const Call& call : kCalls) std::printf("%.*s\n", static_cast<int>(call.name.size()), call.name.data());
  return argc == 1 ? 0 : 2;
}
