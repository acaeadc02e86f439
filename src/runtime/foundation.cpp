// The real machine under a Runtime: settings, host, launcher, UCX.
#include "base/log.hpp"
#include "base/misspelt.hpp"
#include "runtime/assembly.hpp"
#include "runtime/implementation.hpp"
#include "transport/ucx/ucx_transport.hpp"

namespace grapnel::runtime {
namespace {

base::LogLevel level_of(const std::string& name) {
  if (name == "error") return base::LogLevel::error;
  if (name == "info") return base::LogLevel::info;
  if (name == "debug") return base::LogLevel::debug;
  return base::LogLevel::warn;
}

Result<std::shared_ptr<transport::Transport>> make_transport(const base::Config& config, const launch::Launch& launch) {
  auto ucx = transport::make_ucx_transport(config, launch.nodes(), launch.node(), launch.job_secret());
  if (!ucx) return ucx.status();
  return std::shared_ptr<transport::Transport>(std::move(*ucx));
}

}  // namespace

Result<Foundation> real_foundation(const Join& join) {
  auto config = base::Config::from_environment();
  if (!config) return config.status();
  // Here and not where the transport is made, which a job of one node does not come to.
  if (config->transport == base::TransportKind::sim) {
    return Status(Code::unavailable, "GRAPNEL_TRANSPORT=sim joins ranks of one process; separate processes need ucx");
  }
  base::log_set_level(level_of(config->log));
  base::log_set_format(config->log_format);
  Foundation foundation;
  foundation.config = *config;
  foundation.host = os::make_real_host();
  auto joined = join(foundation.config, *foundation.host);
  if (!joined) return joined.status();
  foundation.launch = std::move(*joined);
  base::log_set_identity(std::to_string(index(foundation.launch->rank())));
  if (index(foundation.launch->rank()) == 0) {
    for (const std::string& sentence : base::misspelt_in_environment()) base::log_warn("{}", sentence);
  }
  foundation.make_transport = make_transport;
  return foundation;
}

Result<std::unique_ptr<Runtime>> assemble(Foundation foundation) {
  auto built = Runtime::Implementation::build(std::move(foundation));
  if (!built) return built.status();
  return std::make_unique<Runtime>(std::move(*built));
}

}  // namespace grapnel::runtime
