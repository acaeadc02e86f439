// The real machine under a Runtime: settings, host, launcher, transport.
// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"
#include "base/misspelt.hpp"
#include "launch/settings.hpp"
#include "runtime/assembly.hpp"
#include "runtime/implementation.hpp"
#include "runtime/settings.hpp"
#include "transport/choice.hpp"
#include "transport/interfaces.hpp"
#include "transport/settings.hpp"

namespace grapnel::runtime {

Result<Foundation> real_foundation(const Join& join) {
  auto config = base::Config::from_environment(settings_groups());
  if (!config) return config.status();
  base::log_set_level(config->get<Settings>().log);
  base::log_set_format(config->get<Settings>().log_format);
  Foundation foundation;
  foundation.config = *config;
  foundation.config.change<launch::Settings>().node_memory = node_memory_needs();
  foundation.host = os::make_real_host();
  GRAPNEL_ASSIGN_OR_RETURN(auto joined, join(foundation.config, *foundation.host));
  foundation.launch = std::move(joined);
  // Here and not where the transport is made, which a job of one node does not come to; and before settings are
  // compared: ranks that chose differently could not talk.
  const auto transport =
      transport::choose_transport(config->get<transport::Settings>().kind, foundation.launch->nodes());
  if (!transport) return transport.status();
  foundation.config.change<transport::Settings>().kind = *transport;
  base::log_set_identity(std::to_string(index(foundation.launch->rank())));
  if (index(foundation.launch->rank()) == 0) {
    for (const std::string& sentence : base::misspelt_in_environment(foundation.config)) base::log_warn("{}", sentence);
  }
  std::vector<std::string> interfaces;
  if (!foundation.launch->nodes().one_machine()) {
    GRAPNEL_ASSIGN_OR_RETURN(auto agreed, transport::agree_on_interfaces(*foundation.launch));
    interfaces = std::move(agreed);
  }
  foundation.make_transport = [interfaces](
                                  const base::Config& settings,
                                  const launch::Launch& launch) -> Result<std::shared_ptr<transport::Transport>> {
    GRAPNEL_ASSIGN_OR_RETURN(
        auto made, transport::make_transport(settings, launch.nodes(), launch.node(), launch.job_secret(), interfaces));
    return std::shared_ptr<transport::Transport>(std::move(made));
  };
  return foundation;
}

Result<std::unique_ptr<Runtime>> assemble(Foundation foundation) {
  GRAPNEL_ASSIGN_OR_RETURN(auto built, Runtime::Implementation::build(std::move(foundation)));
  return std::make_unique<Runtime>(std::move(built));
}

}  // namespace grapnel::runtime
