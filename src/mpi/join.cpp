// MPI as the launcher: identity and exchange by a duplicated communicator, abort by MPI_Abort.
//
// The node's connections (launch/internal/liveness.hpp) show a death on this node, the transport and MPI's launcher one
// elsewhere; the launcher ends the job. The launcher's own end is the end of its process
// (launch/launcher_process.hpp): MPI does not notice it in a rank that calls nothing of it.
// SPDX-License-Identifier: Apache-2.0
#include "mpi/join.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "launch/kept_open.hpp"
#include "launch/launcher_process.hpp"
#include "launch/node_launch.hpp"
#include "mpi/status.hpp"
#include "mpi/store.hpp"
#include "os/standard_descriptors.hpp"

namespace grapnel::mpi {
namespace {

bool mpi_lives() {
  int initialized = 0;
  int finalized = 0;
  PMPI_Initialized(&initialized);
  PMPI_Finalized(&finalized);
  return initialized != 0 && finalized == 0;
}

// "Open MPI v4.1.4", "MPICH Version: 4.0.2": the part before the details.
std::string library_name() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = {};
  int length = 0;
  PMPI_Get_library_version(text, &length);
  std::string name(text, static_cast<std::size_t>(length));
  name.resize(std::min(name.find_first_of(",\n"), name.size()));
  std::replace(name.begin(), name.end(), '\t', ' ');
  return name;
}

Status check_communicator(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return Status(Code::invalid_argument, "a job needs a communicator, not MPI_COMM_NULL");
  int inter = 0;
  if (const int code = PMPI_Comm_test_inter(comm, &inter); code != MPI_SUCCESS) {
    return failure("looking at the communicator", code);
  }
  return inter == 0
             ? Status()
             : Status(Code::invalid_argument, "a job needs an intracommunicator (MPI_Intercomm_merge makes one)");
}

class MpiLaunch final : public launch::NodeLaunch {
 public:
  explicit MpiLaunch(os::Host& host) : launch::NodeLaunch(host) {}

  // Without `finalize` the communicator stays: freeing it is collective, and the others may not do it. All ranks have
  // come to MPI_Finalize where it is over: after it a rank's end is no death.
  ~MpiLaunch() override {
    if (liveness_ && !mpi_lives()) liveness_->say_goodbye();
    liveness_.reset();
  }

  Status start(MPI_Comm comm, const base::Config& config) {
    GRAPNEL_TRY(check_mpi());
    GRAPNEL_TRY(check_communicator(comm));
    GRAPNEL_TRY(store_.open(comm));
    library_ = library_name();
    GRAPNEL_TRY(meet(config, static_cast<Rank>(store_.rank()), store_.size()));
    GRAPNEL_ASSIGN_OR_RETURN(auto kept_open, launch::KeptOpen::exchange(*this));
    kept_open_ = std::move(kept_open);
    // For a program that this rank starts and that does not call MPI. MPI itself knows its ranks: no claim, no error.
    // After the exchange: a copy of PMI_FD that is closed ends the claim.
    static_cast<void>(claim_.take(launch::LauncherSigns::now()));
    return watch([this](const std::string& why) { end_job(1, why); },
                 {launcher_process_.number(), {}, POLLIN, kept_open_.active()});
  }

  std::string description() const override { return fmt::format("mpi ({})", library_); }

  Status publish(std::string_view key, ByteView value) override {
    store_.publish(key, value);
    return {};
  }

  Status fence() override {
    if (!mpi_lives()) {
      return Status(Code::unavailable,
                    "MPI is finalised, and the job exchanges over it: end the job before MPI_Finalize");
    }
    Status fenced = store_.fence(host_, [this] { return liveness_ ? health() : Status(); });
    return fenced.code() == Code::system ? death_or(std::move(fenced)) : fenced;
  }

  Result<Bytes> lookup(Rank rank, std::string_view key) override { return store_.lookup(rank, key); }

  [[noreturn]] void abort(int exit_code, const std::string& why) override {
    end_job(exit_code, announce_abort() ? fmt::format("rank {}: {}", store_.rank(), why) : std::string());
  }

  Status finalize() override {
    if (!liveness_) return {};
    liveness_->say_goodbye();
    // The watcher stays until all ranks are here: a death before that must still end the job.
    if (mpi_lives()) GRAPNEL_TRY(fence());
    liveness_.reset();
    claim_.release();
    kept_open_.close();
    return mpi_lives() ? store_.close() : Status();
  }

 private:
  /// Ends the job with `line` as its message, or silently where it is empty: then another rank prints.
  [[noreturn]] void end_job(int exit_code, const std::string& line) {
    if (line.empty()) ::_exit(exit_code);
    launch::tell(line + "; the job ends");
    leave_after(exit_code, [exit_code] {
      if (mpi_lives()) PMPI_Abort(MPI_COMM_WORLD, exit_code);
    });
  }

  Store store_;
  std::string library_;
  launch::KeptOpen kept_open_;
  const os::Descriptor launcher_process_ = launch::open_launcher_process();
};

}  // namespace

Result<std::unique_ptr<launch::Launch>> join(MPI_Comm comm, const base::Config& config, os::Host& host) {
  os::fill_standard_descriptors();
  auto joined = std::make_unique<MpiLaunch>(host);
  if (Status status = joined->start(comm, config); !status.ok()) return status;
  return std::unique_ptr<launch::Launch>(std::move(joined));
}

}  // namespace grapnel::mpi
