// SPDX-License-Identifier: Apache-2.0
#include "os/sim/sim_host.hpp"

#include <cstring>
#include <utility>

namespace grapnel::os {
namespace {

class SimThread : public Thread {
 public:
  SimThread(std::shared_ptr<SimScheduler> scheduler, SimScheduler::Task* task)
      : scheduler_(std::move(scheduler)), task_(task) {}
  ~SimThread() override { scheduler_->join(*task_); }
  SimThread(const SimThread&) = delete;
  SimThread& operator=(const SimThread&) = delete;

 private:
  const std::shared_ptr<SimScheduler> scheduler_;
  SimScheduler::Task* const task_;
};

}  // namespace

SimHost::SimHost(std::shared_ptr<SimScheduler> scheduler, int process, std::string name)
    : scheduler_(std::move(scheduler)),
      process_(process),
      name_(std::move(name)),
      real_(scheduler_->options().mode == SimMode::free_running ? make_real_host() : nullptr) {}

std::uint64_t SimHost::now_ns() { return real_ ? real_->now_ns() : scheduler_->now_ns(); }

std::size_t SimHost::processors() { return real_ ? real_->processors() : scheduler_->options().processors; }

// Between two runs another rank may be chosen, as between two pages of a process copy.
Status SimHost::copy_to(const ProcessName&, std::span<const CopyRun> runs) {
  for (const CopyRun& run : runs) {
    std::memcpy(reinterpret_cast<void*>(run.remote), run.local, run.bytes);
    relax();
  }
  return {};
}

Status SimHost::copy_from(const ProcessName&, std::span<const CopyRun> runs) {
  for (const CopyRun& run : runs) {
    std::memcpy(run.local, reinterpret_cast<const void*>(run.remote), run.bytes);
    relax();
  }
  return {};
}

void SimHost::relax() {
  if (real_) return real_->relax();
  scheduler_->step(SimScheduler::Step::relax);
}

void SimHost::yield() {
  if (real_) return real_->yield();
  scheduler_->step(SimScheduler::Step::yield);
}

void SimHost::wait(Word& word, std::uint32_t seen, std::uint64_t timeout_ns) {
  if (real_) return real_->wait(word, seen, timeout_ns);
  scheduler_->wait(word, seen, timeout_ns);
}

void SimHost::wake(Word& word) {
  if (real_) return real_->wake(word);
  scheduler_->wake(word);
}

Result<std::unique_ptr<Thread>> SimHost::start(const std::string& name, const std::vector<int>& cpus,
                                               std::function<void()> body) {
  if (real_) return real_->start(name, cpus, std::move(body));
  SimScheduler::Task* task = scheduler_->add(process_, name_ + "/" + name, std::move(body));
  return std::unique_ptr<Thread>(std::make_unique<SimThread>(scheduler_, task));
}

}  // namespace grapnel::os
