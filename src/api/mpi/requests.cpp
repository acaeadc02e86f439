// SPDX-License-Identifier: Apache-2.0
#include "api/mpi/requests.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <unordered_map>
#include <utility>

#include "api/mpi/calls.hpp"
#include "api/mpi/errors.hpp"
#include "api/mpi/handle_table.hpp"
#include "api/mpi/job.hpp"
#include "base/mutex.hpp"
#include "os/host.hpp"

namespace grapnel::front {
namespace {

using window::Outcome;
using window::Pending;

/// The code of a request's operation. The host keeps its address, null for an operation that succeeded at once.
struct Answer {
  int code = MPI_SUCCESS;
};

struct Waiter {
  Pending pending;
  Answer* answer = nullptr;
};

struct Table {
  base::Mutex mutex;
  std::unordered_map<std::uint64_t, Waiter> waiters GRAPNEL_GUARDED_BY(mutex);
  std::atomic<std::size_t> size{0};  ///< of `waiters`, read without the mutex
};
Table table;

int query(void* state, MPI_Status* status) {
  PMPI_Status_set_elements(status, MPI_BYTE, 0);
  PMPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return state == nullptr ? MPI_SUCCESS : static_cast<Answer*>(state)->code;
}

int release(void* state) {
  delete static_cast<Answer*>(state);
  return MPI_SUCCESS;
}

int cancel(void*, int) { return MPI_SUCCESS; }

bool some_wait() { return table.size.load(std::memory_order_relaxed) != 0; }

/// False: a request of the host's own, or complete.
bool find_waiter(MPI_Request request, Waiter& found) {
  const base::MutexLock lock(table.mutex);
  const auto at = table.waiters.find(number_of(request));
  if (at == table.waiters.end()) return false;
  found = at->second;
  return true;
}

/// Completes it at the host, once: of two threads that wait for it only one finds it in the table.
void complete(MPI_Request request, const Outcome& outcome) {
  {
    const base::MutexLock lock(table.mutex);
    const auto at = table.waiters.find(number_of(request));
    if (at == table.waiters.end()) return;
    at->second.answer->code = class_of(outcome);
    table.waiters.erase(at);
    table.size.store(table.waiters.size(), std::memory_order_relaxed);
  }
  PMPI_Grequest_complete(request);
}

// `requests` null is the host's to refuse.
void wait_for_taken(const char* call, int count, const MPI_Request* requests) {
  if (!some_wait() || requests == nullptr) return;
  const MpiCall scope(call);
  for (int at = 0; at < count; ++at) {
    Waiter waiter;
    if (find_waiter(requests[at], waiter)) complete(requests[at], waiter.pending.wait());
  }
}

/// Whether an operation of one of them is not complete.
bool test_taken(int count, const MPI_Request* requests) {
  if (!some_wait() || requests == nullptr) return false;
  bool some_left = false;
  for (int at = 0; at < count; ++at) {
    Waiter waiter;
    if (!find_waiter(requests[at], waiter)) continue;
    bool done = false;
    const Outcome outcome = waiter.pending.test(done);
    if (done || !outcome.ok()) {
      complete(requests[at], outcome);
    } else {
      some_left = true;
    }
  }
  return some_left;
}

/// The pause between two tests of the host's requests and those of taken windows. A message of either kind wakes no
/// wait for the other kind, so it is short.
class Nap {
 public:
  explicit Nap(os::Host& host) : host_(host) {}
  bool progress() { return false; }
  void sleep(std::uint64_t timeout_ns) {
    os::Word never_woken{0};
    host_.wait(never_woken, 0, std::min(timeout_ns, kLength_ns));
  }

 private:
  static constexpr std::uint64_t kLength_ns = 50 * base::kMicrosecond_ns;
  os::Host& host_;
};

/// Tests requests of taken windows, then the host's by `ask_host(code)`, until that is true: its call has a result.
template <typename AskHost>
int by_turns(const char* call, int count, const MPI_Request* requests, const AskHost& ask_host) {
  const MpiCall scope(call);
  int code = MPI_SUCCESS;
  const auto look = [&] {
    test_taken(count, requests);
    return ask_host(code);
  };
  Nap nap(the_job->waiting->host());
  const Status waited = the_job->waiting->on_worker(nap, look);
  return waited.ok() ? code : MPI_ERR_OTHER;
}

}  // namespace

int start_request(Pending pending, MPI_Request* request) {
  if (pending.is_complete()) {
    const int code = PMPI_Grequest_start(query, release, cancel, nullptr, request);
    return code == MPI_SUCCESS ? PMPI_Grequest_complete(*request) : code;
  }
  auto answer = std::make_unique<Answer>();
  const int code = PMPI_Grequest_start(query, release, cancel, answer.get(), request);
  if (code != MPI_SUCCESS) return code;
  const base::MutexLock lock(table.mutex);
  table.waiters[number_of(*request)] = {std::move(pending), answer.release()};
  table.size.store(table.waiters.size(), std::memory_order_relaxed);
  return MPI_SUCCESS;
}

int Wait(const Calls& next, MPI_Request* request, MPI_Status* status) {
  wait_for_taken("MPI_Wait", 1, request);
  return next.Wait(request, status);
}

int Waitall(const Calls& next, int count, MPI_Request requests[], MPI_Status statuses[]) {
  wait_for_taken("MPI_Waitall", count, requests);
  return next.Waitall(count, requests, statuses);
}

int Waitany(const Calls& next, int count, MPI_Request requests[], int* place, MPI_Status* status) {
  if (!test_taken(count, requests)) return next.Waitany(count, requests, place, status);
  return by_turns("MPI_Waitany", count, requests, [&](int& code) {
    int done = 0;
    code = next.Testany(count, requests, place, &done, status);
    return done != 0 || code != MPI_SUCCESS;
  });
}

int Waitsome(const Calls& next, int count, MPI_Request requests[], int* done, int places[], MPI_Status statuses[]) {
  if (!test_taken(count, requests)) return next.Waitsome(count, requests, done, places, statuses);
  return by_turns("MPI_Waitsome", count, requests, [&](int& code) {
    code = next.Testsome(count, requests, done, places, statuses);
    return *done != 0 || code != MPI_SUCCESS;
  });
}

int Test(const Calls& next, MPI_Request* request, int* flag, MPI_Status* status) {
  test_taken(1, request);
  return next.Test(request, flag, status);
}

int Testall(const Calls& next, int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  test_taken(count, requests);
  return next.Testall(count, requests, flag, statuses);
}

int Testany(const Calls& next, int count, MPI_Request requests[], int* place, int* flag, MPI_Status* status) {
  test_taken(count, requests);
  return next.Testany(count, requests, place, flag, status);
}

int Testsome(const Calls& next, int count, MPI_Request requests[], int* done, int places[], MPI_Status statuses[]) {
  test_taken(count, requests);
  return next.Testsome(count, requests, done, places, statuses);
}

int Request_get_status(const Calls& next, MPI_Request request, int* flag, MPI_Status* status) {
  test_taken(1, &request);
  return next.Request_get_status(request, flag, status);
}

// A freed request's operation is completed by the next flush.
int Request_free(const Calls& next, MPI_Request* request) {
  if (some_wait() && request != nullptr) complete(*request, {});
  return next.Request_free(request);
}

}  // namespace grapnel::front
