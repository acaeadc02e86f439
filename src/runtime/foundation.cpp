// The real machine under a Runtime: settings, host, launcher, transport.
#include "base/log.hpp"
#include "base/misspelt.hpp"
#include "runtime/assembly.hpp"
#include "runtime/implementation.hpp"
#include "transport/choice.hpp"
#include "transport/interfaces.hpp"

namespace grapnel::runtime {
namespace {

base::LogLevel level_of(const std::string& name) {
  if (name == "error") return base::LogLevel::error;
  if (name == "info") return base::LogLevel::info;
  if (name == "debug") return base::LogLevel::debug;
  return base::LogLevel::warn;
}

}  // namespace

Result<Foundation> real_foundation(const Join& join) {
  auto config = base::Config::from_environment();
  if (!config) return config.status();
  base::log_set_level(level_of(config->log));
  base::log_set_format(config->log_format);
  Foundation foundation;
  foundation.config = *config;
  foundation.host = os::make_real_host();
  auto joined = join(foundation.config, *foundation.host);
  if (!joined) return joined.status();
  foundation.launch = std::move(*joined);
  // Here and not where the transport is made, which a job of one node does not come to; and before settings are
  // compared: ranks that chose differently could not talk.
  const auto transport = transport::choose_transport(config->transport, foundation.launch->nodes());
  if (!transport) return transport.status();
  foundation.config.transport = *transport;
  base::log_set_identity(std::to_string(index(foundation.launch->rank())));
  if (index(foundation.launch->rank()) == 0) {
    for (const std::string& sentence : base::misspelt_in_environment()) base::log_warn("{}", sentence);
  }
  std::vector<std::string> interfaces;
  if (!foundation.launch->nodes().one_machine()) {
    auto agreed = transport::agree_on_interfaces(*foundation.launch);
    if (!agreed) return agreed.status();
    interfaces = std::move(*agreed);
  }
  foundation.make_transport = [interfaces](
                                  const base::Config& settings,
                                  const launch::Launch& launch) -> Result<std::shared_ptr<transport::Transport>> {
    auto made = transport::make_transport(settings, launch.nodes(), launch.node(), launch.job_secret(), interfaces);
    if (!made) return made.status();
    return std::shared_ptr<transport::Transport>(std::move(*made));
  };
  return foundation;
}

Result<std::unique_ptr<Runtime>> assemble(Foundation foundation) {
  auto built = Runtime::Implementation::build(std::move(foundation));
  if (!built) return built.status();
  return std::make_unique<Runtime>(std::move(*built));
}

}  // namespace grapnel::runtime
