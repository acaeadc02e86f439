// A program that watches its signal dispositions: as it found them, and as it set them, after the library was loaded,
// the job was started, and it has ended. Built on libgrapnel, on libarmci (shared and static), and without either, to
// load one with dlopen.
//
//   signals [--load LIBRARY] [--ignored N]… [--taken N]…
//
// Exit code 0 and "signals ok", or a line for each change and 1. --taken: what MPI_Init takes by itself, and what is
// not compared for this reason.
//
// FIELD_API is 0 (none), 1 (grapnel/runtime.hpp) or 2 (armci.h).
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#if FIELD_API == 1
#include <grapnel/runtime.hpp>
#elif FIELD_API == 2
#include <armci.h>
#endif

namespace {

constexpr int kRestorer = 0x0400'0000;  // the C library's own, set with whatever is set through it
constexpr int kSignals = 32;            // 1 to 31
using Dispositions = std::array<struct sigaction, kSignals>;

bool can_be_set(int signal) { return signal != SIGKILL && signal != SIGSTOP; }

Dispositions now() {
  Dispositions all{};
  for (int signal = 1; signal < kSignals; ++signal)
    ::sigaction(signal, nullptr, &all[static_cast<std::size_t>(signal)]);
  return all;
}

std::vector<int> taken_by_mpi;

int changes(const Dispositions& before, const char* when) {
  const Dispositions after = now();
  int count = 0;
  for (std::size_t signal = 1; signal < kSignals; ++signal) {
    if (std::count(taken_by_mpi.begin(), taken_by_mpi.end(), static_cast<int>(signal)) != 0) continue;
    const bool same = before[signal].sa_handler == after[signal].sa_handler &&
                      ((before[signal].sa_flags ^ after[signal].sa_flags) & ~kRestorer) == 0;
    if (same) continue;
    std::printf("%s: another disposition of signal %zu\n", when, signal);
    ++count;
  }
  return count;
}

// What a shell's child has: the default, or ignored where its parent said so.
int foreign_at_start(const std::vector<int>& ignored) {
  int count = 0;
  for (int signal = 1; signal < kSignals; ++signal) {
    struct sigaction found {};
    ::sigaction(signal, nullptr, &found);
    const bool is_ignored = std::find(ignored.begin(), ignored.end(), signal) != ignored.end();
    if (found.sa_handler == (is_ignored ? SIG_IGN : SIG_DFL)) continue;
    std::printf("at main: signal %d is handled already, or not ignored any more\n", signal);
    ++count;
  }
  return count;
}

void own_handler(int) {}

// Where nothing else is wanted: MPI takes what it finds at the default.
void set_own(const std::vector<int>& ignored) {
  for (int signal = 1; signal < kSignals; ++signal) {
    if (!can_be_set(signal) || std::find(ignored.begin(), ignored.end(), signal) != ignored.end()) continue;
    struct sigaction own {};
    own.sa_handler = own_handler;
    own.sa_flags = SA_RESTART | SA_NODEFER;
    ::sigaction(signal, &own, nullptr);
  }
}

#if FIELD_API == 1
int run_job(const Dispositions& before) {
  auto started = grapnel::Runtime::start();
  if (!started) return std::printf("start: %s\n", started.status().to_string().c_str());
  int count = changes(before, "after start");
  if (!(*started)->barrier().ok() || !(*started)->finish().ok()) return std::printf("the job failed\n");
  started = std::unique_ptr<grapnel::Runtime>();
  return count + changes(before, "after finish");
}
#elif FIELD_API == 2
int run_job(const Dispositions& before) {
  if (ARMCI_Init() != 0) return std::printf("ARMCI_Init failed\n");
  int count = changes(before, "after ARMCI_Init");
  ARMCI_Barrier();
  if (ARMCI_Finalize() != 0) return std::printf("ARMCI_Finalize failed\n");
  return count + changes(before, "after ARMCI_Finalize");
}
#else
int run_job(const Dispositions&) { return 0; }
#endif

int load(const char* library, const Dispositions& before) {
  if (::dlopen(library, RTLD_NOW | RTLD_GLOBAL) == nullptr) return std::printf("dlopen: %s\n", ::dlerror());
  return changes(before, "after dlopen");
}

}  // namespace

int main(int argc, char** argv) {
  const char* library = nullptr;
  std::vector<int> ignored;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--load") == 0) library = argv[i + 1];
    if (std::strcmp(argv[i], "--ignored") == 0) ignored.push_back(std::atoi(argv[i + 1]));
    if (std::strcmp(argv[i], "--taken") == 0) taken_by_mpi.push_back(std::atoi(argv[i + 1]));
  }
  int count = foreign_at_start(ignored);
  set_own(ignored);
  const Dispositions before = now();
  if (library != nullptr) count += load(library, before);
  count += run_job(before);
  if (count == 0) std::printf("signals ok\n");
  return count == 0 ? 0 : 1;
}
