// What a launcher left in the environment of this process: which protocol it offers, and how many ranks it started.
//
// Two views: the present environment, and the one that the process was started with. They differ where a library has
// written into it: an MPI that finds no launcher it knows leaves variables like a launcher's own, for a job of one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

namespace grapnel::launch {

class LauncherSigns {
 public:
  using Variables = std::map<std::string, std::string, std::less<>>;

  explicit LauncherSigns(Variables variables) : variables_(std::move(variables)) {}
  static LauncherSigns now();
  /// What was there when the process was started; `now` where the kernel does not tell.
  static LauncherSigns at_start();

  std::optional<std::string> text(const char* variable) const;
  /// Nothing where the variable is missing or no whole number.
  std::optional<int> number(const char* variable) const;

  /// PMIx: Open MPI's mpirun, prterun, srun --mpi=pmix.
  bool offers_pmix() const;
  /// PMI-1 over an inherited socket: `grapnel run`, MPICH's hydra. True only while that descriptor is open.
  bool offers_pmi1() const;
  /// PMI-1 of `grapnel run`: the socket is the one that it gave to this process, and not one with the same number of a
  /// launcher that `grapnel run` started.
  bool offers_grapnel_run() const;
  /// A program between `grapnel run` and this process has closed the socket and kept the variables.
  bool lost_grapnel_run() const;

  struct Launcher {
    std::string name;
    int ranks = 0;  ///< 0: it does not say
  };
  /// The launcher that started this process as a rank, by variables alone. Slurm's step counts last: under an mpirun it
  /// may be that of mpirun's daemons.
  std::optional<Launcher> launcher() const;

 private:
  Variables variables_;
};

}  // namespace grapnel::launch
