// A process's connection to a launcher with PMI-1: requests, answers, waits with a way out.
//
// The socket (PMI_FD) belongs to the whole process, and an MPI of the launcher's family uses it too, in MPI_Init, in
// MPI_Finalize, and hardly between. The two work together:
//   1. every request is answered before the next one, so at the end of a call nothing is under way;
//   2. `init` may be said twice, by us and by MPI, in either order;
//   3. `finalize` is final: after it the launcher closes. It is MPI's to say if MPI ever starts in this process. So we
//      say it at the process's exit, and only if MPI was not started until then; a program may start MPI after Grapnel
//      ended;
//   4. the client has a copy of the descriptor, so that MPI_Finalize cannot leave it a number that means something
//      else.
//
// The server of `grapnel run` announces requests of its own (`grapnel=1` in its answer to `init`; no other launcher
// does):
//   cmd=grapnel_join, cmd=grapnel_leave   this process joins a job, leaves it in order
//   cmd=grapnel_fence bytes=N, N bytes    a barrier that also exchanges what was published since the last one; the
//                                         answer brings the values of all ranks in one sealed file (pmi1_table.hpp),
//                                         or bytes=-1 and, as grapnel_why, the reason why it brings none
//   cmd=abort … grapnel_why=BASE64        the message, for the launcher to print
// so a fence is one request of each rank, whatever the number of ranks.
//
// Threads: one at a time, but for `abort` and `number`. MPI_Init and MPI_Finalize count as calls.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.hpp"
#include "grapnel/status.hpp"
#include "launch/pmi1_protocol.hpp"
#include "launch/pmi1_table.hpp"
#include "os/descriptor.hpp"
#include "os/host.hpp"

namespace grapnel::launch {

class Pmi1Client {
 public:
  /// Asked between the looks of a wait; a failure ends it.
  using Health = std::function<Status()>;

  /// Sends `init` over a copy of `descriptor` and asks for limits and store. Errors: unavailable (not PMI-1, another
  /// version), timed_out, refused (garbled), system.
  static Result<std::unique_ptr<Pmi1Client>> connect(os::Host& host, int descriptor);

  std::size_t key_limit() const { return key_limit_; }
  std::size_t value_limit() const { return value_limit_; }

  Status put(std::string_view key, std::string_view value, const Health& health);
  /// Errors: invalid_argument where no rank has put it.
  Result<std::string> get(std::string_view key, const Health& health);
  /// Collective over the job; waits for as long as `health` is well.
  Status barrier(const Health& health);
  /// The last request; the launcher closes the connection. Waits a moment for its answer.
  void finalize();
  /// Asks the launcher to end the job. Any thread; no answer. `why` is for the server of `grapnel run` alone.
  void abort(int exit_code, std::string_view why = {});

  /// The launcher is `grapnel run`: the next three can be asked for.
  bool extended() const { return extended_; }
  /// This process joins a job (leaves it in order): until it has left, its end is a death.
  Status join();
  Status leave();
  /// Collective: a barrier, after which every rank has what the `ranks` ranks published; nothing where none did.
  /// Errors: invalid_argument (more than kPmi1MostPublished), and those of the other requests.
  Result<std::optional<Pmi1Table>> fence(ByteView published, int ranks, const Health& health);

  /// For poll(): a hang-up there is the launcher's end, or MPI_Finalize.
  int number() const { return socket_.number(); }

 private:
  Pmi1Client(os::Host& host, os::Descriptor socket) : host_(host), socket_(std::move(socket)) {}
  Status greet();
  /// Sends a line and reads the answer, which must be of the command `expected`. timeout 0: none.
  Result<Pmi1Message> ask(const std::string& line, const char* expected, std::uint64_t timeout_ns,
                          const Health& health);
  Result<Pmi1Message> read_answer(const char* expected, std::uint64_t timeout_ns, const Health& health);
  /// All of both, with nothing of another thread between.
  Status send(std::string_view line, std::string_view bytes = {});
  Status send_all(std::string_view bytes);
  Result<std::string> read_line(std::uint64_t timeout_ns, const Health& health);
  /// What has come, into `unread_` and `files_`.
  Status read_some();

  os::Host& host_;
  os::Descriptor socket_;
  std::string store_;
  std::size_t key_limit_ = 0;
  std::size_t value_limit_ = 0;
  bool extended_ = false;
  std::string unread_;
  std::deque<os::Descriptor> files_;  ///< came with the lines
  base::Mutex sending_;
};

}  // namespace grapnel::launch
