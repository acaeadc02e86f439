// A rank that uses the shared heap in some way until it is ended: what the heap's kill test kills.
//
//   dsm_probe stay|end HOW
//
//   fetch      faults and fetches: all ranks read what the others have written, page by page
//   flush      releases: each rank writes to pages that other nodes keep, and releases a lock of its own
//   contend    all ranks want one lock
//   barrier    barriers one after the other
//   collect    with lrc: barriers that collect records; each rank reads what another node wrote
//   step       barriers whose news a node's first rank has to ask for, while the others of its node wait for that rank
//   hold:R     rank R holds a lock, and rests; the others wait for the lock
//   wait:R     rank R rests; the others wait for a condition
//   absent:R   rank R rests; the others wait for it at a barrier
//
// It prints "ready RANK PID" in the first round, or before the wait. Where a call fails, `end` ends the job, as
// programs do; `stay` prints why and leaves the end and its message to the launcher.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "grapnel/runtime.hpp"

namespace {

using grapnel::Status;

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kPages = 600;  // of each rank: every other one, so each is a run; a barrier carries 512

class Probe {
 public:
  Probe(grapnel::Runtime& g, grapnel::SharedHeap heap)
      : heap_(std::move(heap)),
        me_(static_cast<std::size_t>(grapnel::index(g.rank()))),
        size_(static_cast<std::size_t>(g.size())) {}

  // Rank r + 2, which is on another node than r, touches r's pages first: its node keeps them.
  Status begin() {
    const std::size_t other = (me_ + size_ - 2) % size_;
    for (std::size_t page = 0; page < kPages; ++page) *word(other, 2 * page) = 0;
    return heap_.barrier();
  }

  Status stay(const std::string& how) {
    const std::size_t colon = how.find(':');
    if (colon != std::string::npos) return rest(how.substr(0, colon), std::stoul(how.substr(colon + 1)));
    for (std::uint64_t number = 1;; ++number) {
      GRAPNEL_TRY(one_round(how, number));
      if (number == 1) ready();
    }
  }

 private:
  std::uint64_t* word(std::size_t rank, std::size_t page) const {
    return reinterpret_cast<std::uint64_t*>(static_cast<char*>(heap_.base()) + (2 * kPages * rank + page) * kPageBytes);
  }

  void ready() const {
    std::printf("ready %zu %d\n", me_, static_cast<int>(::getpid()));
    std::fflush(stdout);
  }

  // One rank does not come.
  Status rest(const std::string& how, std::size_t who) {
    const bool holds = how == "hold";
    if (holds && me_ == who) GRAPNEL_TRY(heap_.lock(0));
    GRAPNEL_TRY(heap_.barrier());
    ready();
    if (me_ == who) {
      for (;;) ::pause();
    }
    if (how == "wait") {
      GRAPNEL_TRY(heap_.lock(0));
      return heap_.wait(0, 0);
    }
    return holds ? heap_.lock(0) : heap_.barrier();
  }

  Status one_round(const std::string& how, std::uint64_t number) {
    if (how == "fetch") return fetch(number);
    if (how == "flush") return flush(number);
    if (how == "contend") return contend();
    if (how == "collect") return collect(number);
    return how == "step" ? step(number) : heap_.barrier();
  }

  Status fetch(std::uint64_t number) {
    for (std::size_t page = 0; page < kPages; ++page) *word(me_, 2 * page) = number;
    GRAPNEL_TRY(heap_.barrier());
    for (std::size_t i = 0; i < kPages * size_; ++i) {
      const std::size_t place = i * 7 % (kPages * size_);  // not in order, so that few pages come together
      check(*word(place / kPages, 2 * (place % kPages)), number);
    }
    return heap_.barrier();
  }

  Status flush(std::uint64_t number) {
    for (std::size_t page = 0; page < kPages; ++page) *word(me_, 2 * page) = number;
    const int mine = static_cast<int>(me_);
    GRAPNEL_TRY(heap_.lock(mine));
    return heap_.unlock(mine);
  }

  Status contend() {
    GRAPNEL_TRY(heap_.lock(0));
    ++*word(0, 1);
    return heap_.unlock(0);
  }

  // Records of one rank's pages take 19 KiB, so those of two ranks more than half of 64 KiB.
  Status collect(std::uint64_t number) {
    constexpr std::size_t kPagesRead = kPages / 2;
    for (std::size_t page = 0; page < kPagesRead; ++page) *word(me_, 2 * page) = number;
    GRAPNEL_TRY(heap_.barrier());
    const std::size_t other = (me_ + 2) % size_;
    for (std::size_t page = 0; page < kPagesRead; ++page) check(*word(other, 2 * page), number);
    return heap_.barrier();
  }

  Status step(std::uint64_t number) {
    for (std::size_t page = 0; page < kPages; ++page) *word(me_, 2 * page) = number;
    return heap_.barrier();
  }

  static void check(std::uint64_t found, std::uint64_t expected) {
    if (found == expected) return;
    std::fprintf(stderr, "dsm_probe: a page has %llu and not %llu\n", static_cast<unsigned long long>(found),
                 static_cast<unsigned long long>(expected));
    std::abort();
  }

  grapnel::SharedHeap heap_;
  std::size_t me_, size_;
};

}  // namespace

int main(int argc, char** argv) {
  const bool ends = argc == 3 && std::strcmp(argv[1], "end") == 0;
  if (argc != 3 || (!ends && std::strcmp(argv[1], "stay") != 0)) {
    std::fprintf(stderr, "usage: dsm_probe stay|end HOW\n");
    return 2;
  }
  auto started = grapnel::Runtime::start();
  if (!started) {
    std::fprintf(stderr, "%s\n", started.status().to_string().c_str());
    return 1;
  }
  grapnel::Runtime& g = **started;
  auto heap = g.open_shared_heap({.bytes = 64 << 20, .locks = 16});
  if (!heap) {
    std::fprintf(stderr, "%s\n", heap.status().to_string().c_str());
    return 1;
  }
  Probe probe(g, *std::move(heap));
  Status done = probe.begin();
  if (done.ok()) done = probe.stay(argv[2]);
  if (ends) g.abort(1, done.to_string());
  std::fprintf(stderr, "dsm_probe: rank %zu: %s\n", static_cast<std::size_t>(grapnel::index(g.rank())),
               done.to_string().c_str());
  for (;;) ::pause();
}
