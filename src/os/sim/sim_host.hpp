// One simulated process, as the runtime sees it: every call is the scheduler's, or, free-running, to the machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "os/host.hpp"
#include "os/sim/scheduler.hpp"

namespace grapnel::os {

class SimHost : public Host {
 public:
  SimHost(std::shared_ptr<SimScheduler> scheduler, int process, std::string name);

  std::uint64_t now_ns() override;
  std::size_t processors() override;
  bool has_page_tables() const override { return false; }
  Status copy_to(const ProcessName& target, std::span<const CopyRun> runs) override;
  Status copy_from(const ProcessName& target, std::span<const CopyRun> runs) override;
  int cpu() override { return 0; }
  void relax() override;
  void yield() override;
  void wait(Word& word, std::uint32_t seen, std::uint64_t timeout_ns) override;
  void wake(Word& word) override;
  /// Simulated threads are not bound: `cpus` is ignored. The name in reports is "<process>/<name>".
  Result<std::unique_ptr<Thread>> start(const std::string& name, const std::vector<int>& cpus,
                                        std::function<void()> body) override;

  int process() const { return process_; }
  SimScheduler& scheduler() { return *scheduler_; }

 private:
  const std::shared_ptr<SimScheduler> scheduler_;
  const int process_;
  const std::string name_;
  const std::unique_ptr<Host> real_;  ///< null unless free-running
};

}  // namespace grapnel::os
