// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/ucx_capabilities.hpp"

#include <uct/api/uct.h>

#include <array>
#include <memory>

#include "transport/ucx/ucx_adapter.hpp"
#include "transport/ucx/ucx_status.hpp"

namespace grapnel::transport {
namespace ucx {
namespace {

// posix, sysv, xpmem and knem reach only memory that UCX allocated or attached itself in 1.13; our segments are memfd
// mappings, for which ucp_put falls back to emulation over them. cma needs no special memory, but UCP 1.13 gives it no
// lane for ucp_put and ucp_get, which it emulates with messages (a put to a target that does not progress never ends):
// we call the kernel ourselves (os/process_copy.hpp). leaves_in_turn: tcp has one transmit buffer per endpoint and
// takes a message only when the socket has taken the one before; shared memory has put it into the receiver's queue.
// Adapters keep work that this process may have to repeat.
constexpr std::array kFacts = {
    TransportFact{"tcp", "", false, NativeWay::none, true, true, "messages"},
    TransportFact{"rc_verbs", "rc rc_v ib", false, NativeWay::adapter, true, false, "network adapter"},
    TransportFact{"rc_mlx5", "rc rc_x ib", false, NativeWay::adapter, true, false, "network adapter"},
    TransportFact{"dc_mlx5", "dc dc_x ib", false, NativeWay::adapter, true, false, "network adapter"},
    TransportFact{"ud_verbs", "ud ud_v ib", false, NativeWay::none, true, false, "messages"},
    TransportFact{"ud_mlx5", "ud ud_x ib", false, NativeWay::none, true, false, "messages"},
    TransportFact{"ugni_rdma", "ugni", false, NativeWay::adapter, false, false, "network adapter"},
    TransportFact{"ugni_smsg", "ugni", false, NativeWay::none, false, false, "messages"},
    TransportFact{"ugni_udt", "ugni", false, NativeWay::none, false, false, "messages"},
    TransportFact{"self", "", true, NativeWay::none, false, true, "messages"},
    TransportFact{"posix", "mm sm shm", true, NativeWay::none, false, true, "messages"},
    TransportFact{"sysv", "mm sm shm", true, NativeWay::none, false, true, "messages"},
    TransportFact{"xpmem", "mm sm shm", true, NativeWay::none, false, true, "messages"},
    TransportFact{"knem", "sm shm", true, NativeWay::none, false, true, "messages"},
    TransportFact{"cma", "sm shm", true, NativeWay::process_copy, false, true, "origin's processor"},
};

bool contains_word(std::string_view words, char separator, std::string_view word) {
  while (!words.empty()) {
    const std::size_t end = words.find(separator);
    if (words.substr(0, end) == word) return true;
    if (end == std::string_view::npos) return false;
    words.remove_prefix(end + 1);
  }
  return false;
}

}  // namespace

const TransportFact* find_fact(std::string_view name) {
  for (const TransportFact& fact : kFacts) {
    if (fact.name == name) return &fact;
  }
  return nullptr;
}

bool selects(std::string_view tls, const TransportFact& fact) {
  const bool excludes = tls.starts_with('^');
  if (excludes) tls.remove_prefix(1);
  bool named = contains_word(tls, ',', "all") || contains_word(tls, ',', fact.name);
  std::string_view aliases = fact.aliases;
  while (!named && !aliases.empty()) {
    const std::size_t end = aliases.find(' ');
    named = contains_word(tls, ',', aliases.substr(0, end));
    aliases.remove_prefix(end == std::string_view::npos ? aliases.size() : end + 1);
  }
  return named != excludes;
}

}  // namespace ucx

namespace {

TransportRow make_row(const uct_tl_resource_desc_t& resource) {
  TransportRow row{.name = resource.tl_name, .device = resource.dev_name, .how = "not in the table: messages"};
  if (const ucx::TransportFact* fact = ucx::find_fact(row.name)) {
    row.native_put = row.native_get = fact->native != ucx::NativeWay::none;
    row.detects_dead_peers = fact->detects_dead_peers;
    row.how = fact->how;
  }
  return row;
}

void add_rows_of_domain(uct_component_h component, const char* name, std::vector<TransportRow>& rows) {
  uct_md_config_t* config = nullptr;
  if (uct_md_config_read(component, nullptr, nullptr, &config) != UCS_OK) return;
  const std::unique_ptr<uct_md_config_t, void (*)(void*)> config_owner(config, uct_config_release);
  uct_md_h domain = nullptr;
  // A domain that does not open is a transport that cannot be used here: it has no row.
  if (uct_md_open(component, name, config, &domain) != UCS_OK) return;
  uct_tl_resource_desc_t* resources = nullptr;
  unsigned count = 0;
  if (uct_md_query_tl_resources(domain, &resources, &count) == UCS_OK) {
    for (unsigned i = 0; i < count; ++i) rows.push_back(make_row(resources[i]));
    uct_release_tl_resource_list(resources);
  }
  uct_md_close(domain);
}

void add_rows_of_component(uct_component_h component, std::vector<TransportRow>& rows) {
  uct_component_attr_t attributes{};
  attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
  if (uct_component_query(component, &attributes) != UCS_OK) return;
  std::vector<uct_md_resource_desc_t> domains(attributes.md_resource_count);
  attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
  attributes.md_resources = domains.data();
  if (domains.empty() || uct_component_query(component, &attributes) != UCS_OK) return;
  for (const uct_md_resource_desc_t& domain : domains) add_rows_of_domain(component, domain.md_name, rows);
}

}  // namespace

Result<std::vector<TransportRow>> describe_transports() {
  uct_component_h* components = nullptr;
  unsigned count = 0;
  GRAPNEL_TRY(ucx::to_local_status(uct_query_components(&components, &count), "list its components"));
  std::vector<TransportRow> rows;
  for (unsigned i = 0; i < count; ++i) add_rows_of_component(components[i], rows);
  uct_release_component_list(components);
  return rows;
}

NativeAtomics atomics_of(const TransportRow& row) {
  const ucx::TransportFact* const fact = ucx::find_fact(row.name);
  if (fact == nullptr || fact->native != ucx::NativeWay::adapter) return {};
  return ucx::atomics_of(row.name, row.device);
}

}  // namespace grapnel::transport
