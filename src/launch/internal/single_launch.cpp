// SPDX-License-Identifier: Apache-2.0
#include "launch/internal/single_launch.hpp"
#include "base/mutex.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <map>

#include "launch/node_launch.hpp"

namespace grapnel::launch {
namespace {

// No watcher: no other rank could die, and no launcher could end.
class SingleLaunch final : public NodeLaunch {
 public:
  explicit SingleLaunch(os::Host& host) : NodeLaunch(host) {}

  Status start(const base::Config& config) { return meet(config, Rank{0}, 1); }

  std::string description() const override { return "single"; }

  Status publish(std::string_view key, ByteView value) override {
    const base::MutexLock lock(mutex_);
    published_.insert_or_assign(std::string(key), Bytes(value.begin(), value.end()));
    return {};
  }

  Status fence() override { return {}; }

  Result<Bytes> lookup(Rank rank, std::string_view key) override {
    const base::MutexLock lock(mutex_);
    const auto found = published_.find(std::string(key));
    if (rank != Rank{0} || found == published_.end()) {
      return Status(Code::invalid_argument,
                    fmt::format("rank {} has published nothing under \"{}\"", static_cast<int>(rank), key));
    }
    return found->second;
  }

  [[noreturn]] void abort(int exit_code, const std::string& why) override {
    tell(fmt::format("rank 0: {}; the job ends", why));
    ::_exit(exit_code);
  }

  Status finalize() override { return {}; }

 private:
  base::Mutex mutex_;
  std::map<std::string, Bytes> published_ GRAPNEL_GUARDED_BY(mutex_);
};

}  // namespace

Result<std::unique_ptr<Launch>> join_single(const base::Config& config, os::Host& host) {
  auto launch = std::make_unique<SingleLaunch>(host);
  if (Status status = launch->start(config); !status.ok()) return status;
  return std::unique_ptr<Launch>(std::move(launch));
}

}  // namespace grapnel::launch
