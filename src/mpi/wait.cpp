// SPDX-License-Identifier: Apache-2.0
#include "mpi/wait.hpp"

#include "mpi/spinning.hpp"
#include "mpi/status.hpp"
#include "os/host.hpp"

namespace grapnel::mpi {
namespace {

// A nap is about a wake-up long at first. None is so long that it would show beside what was already waited; a long
// wait's are longer, for each costs the wake-up and MPI_Test: 8 to 10 % of a core with one every 250 us.
constexpr std::uint64_t kFirstNap_ns = 20 * base::kMicrosecond_ns;
constexpr std::uint64_t kUsualNap_ns = 250 * base::kMicrosecond_ns;
constexpr std::uint64_t kLongestNap_ns = 1 * base::kMillisecond_ns;
constexpr std::uint64_t kNapsOfALongWait = 32;
// MPI moves more than that in pieces, and each takes a call of both sides.
constexpr std::int64_t kLong_bytes = std::int64_t{64} << 10;

// Open MPI 5 reads its sockets in one of eight calls: with one call between two naps a message was noticed 0.8 ms late.
// Between two yields of ours likewise, where MPI yields in each call that finds nothing: after a single call the
// processor is passed on twice before the next look, and a round trip of 4 ranks on 2 processors took twice MPI's time.
constexpr int kTestsOfALook = 8;
// Between two spins: they find what is near, and that is over after the first of them.
constexpr int kNapsInARow = 16;

/// A request of MPI's as a worker. No message wakes a sleeper: MPI's messages arrive by its own ways.
class MpiWorker {
 public:
  MpiWorker(os::Host& host, MPI_Request& request, MPI_Status* status)
      : host_(host), request_(request), status_(status), tests_of_a_step_(mpi_yields() ? kTestsOfALook : 1) {}

  bool step() { return test(tests_of_a_step_); }
  int answer() const { return answer_; }
  bool progress() { return false; }  // MPI_Test itself makes MPI progress
  void sleep(std::uint64_t timeout_ns) {
    os::Word never_woken{0};
    for (int naps = 0; naps < kNapsInARow && timeout_ns > 0 && !test(kTestsOfALook); ++naps) {
      const std::uint64_t nap_ns = std::min(timeout_ns, nap_ns_);
      host_.wait(never_woken, 0, nap_ns);
      timeout_ns -= nap_ns;
      napped_ns_ += nap_ns;
      const std::uint64_t most_ns = std::clamp(napped_ns_ / kNapsOfALongWait, kUsualNap_ns, kLongestNap_ns);
      nap_ns_ = std::min(2 * nap_ns_, most_ns);
    }
  }

 private:
  bool test(int times) {
    for (; times > 0 && !over_; --times) {
      int done = 0;
      answer_ = PMPI_Test(&request_, &done, status_);
      over_ = done != 0 || answer_ != MPI_SUCCESS;
    }
    return over_;
  }

  os::Host& host_;
  MPI_Request& request_;
  MPI_Status* status_;
  const int tests_of_a_step_;
  bool over_ = false;
  int answer_ = MPI_SUCCESS;
  std::uint64_t nap_ns_ = kFirstNap_ns, napped_ns_ = 0;
};

bool may_enter() {
  int level = MPI_THREAD_SINGLE, main_thread = 0;
  PMPI_Query_thread(&level);
  if (level == MPI_THREAD_MULTIPLE) return true;
  PMPI_Is_thread_main(&main_thread);
  return level != MPI_THREAD_SERIALIZED && main_thread != 0;
}

}  // namespace

Status wait_for(progress::Waiting* waiting, MPI_Request request, std::int64_t bytes, MPI_Status* status) {
  if (waiting == nullptr || bytes > kLong_bytes) return status_of(PMPI_Wait(&request, status));
  MpiWorker worker(waiting->host(), request, status);
  GRAPNEL_TRY(waiting->on_worker(
      worker, [&] { return worker.step(); }, progress::Waiting::kForever,
      [] { return progress::WaitSubject{progress::WaitKind::mpi}; }));
  return status_of(worker.answer());
}

void let_progress(MPI_Comm comm) {
  if (!may_enter()) return;
  int found = 0;
  PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, MPI_STATUS_IGNORE);
}

}  // namespace grapnel::mpi
