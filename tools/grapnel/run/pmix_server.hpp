// The PMIx server of a job on this machine: what its ranks ask when they join, exchange values, or abort.
//
// The library keeps its state per process and its callbacks carry no pointer of ours: one server per process, reached
// through one pointer in pmix_server.cpp. Callbacks run on the library's thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "grapnel/status.hpp"

namespace grapnel::tool {

struct PmixServerState;

class PmixServer {
 public:
  struct AbortRequest {
    int rank;
    int exit_code;
    std::string why;
  };

  /// Everything that the library writes goes into `session_directory`. Never finalized: the process ends with it.
  /// Errors: system.
  static Result<std::unique_ptr<PmixServer>> start(int ranks, const std::string& session_directory);
  ~PmixServer();
  PmixServer(const PmixServer&) = delete;
  PmixServer& operator=(const PmixServer&) = delete;

  /// What a rank finds its server with, as "NAME=value"; before it is forked.
  Result<std::vector<std::string>> environment_of(int rank);

  /// Readable when a rank asked to abort the job.
  int abort_event() const;
  /// The first request. Once.
  std::optional<AbortRequest> take_abort();

  /// True for a rank that has joined the job and not left it: its end is no good end, whatever its exit code.
  bool is_in_job(int rank) const;
  /// It has been in the job, if only for a while.
  bool has_joined(int rank) const;
  bool anybody_in_job() const;

 private:
  explicit PmixServer(std::unique_ptr<PmixServerState> state);

  std::unique_ptr<PmixServerState> state_;
};

}  // namespace grapnel::tool
