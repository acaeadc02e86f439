// The part of `grapnel info` that comes from the transport layer and from the table of protocols.
#include <ucp/api/ucp.h>

#include "info.hpp"

namespace grapnel::tool {

std::vector<Section> transport_sections(const base::Config&) {
  return {{"transports", {{"transport", "library"}, {"ucx", std::string("UCX ") + ucp_get_version_string()}}}};
}

}  // namespace grapnel::tool
