// SPDX-License-Identifier: Apache-2.0
#include <ucp/api/ucp.h>

#include <cstdio>
#include <cstdlib>

#include "transport/wire.hpp"

namespace grapnel::testing {
namespace {

void must(ucs_status_t status, const char* what) {
  if (status == UCS_OK) return;
  std::fprintf(stderr, "%s: %s\n", what, ucs_status_string(status));
  std::exit(1);
}

class BareWire final : public Wire {
 public:
  BareWire(const std::vector<std::pair<std::string, std::string>>& settings, unsigned id) : id_(id) {
    ucp_config_t* config = nullptr;
    must(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
    for (const auto& [name, value] : settings)
      must(ucp_config_modify(config, name.c_str(), value.c_str()), name.c_str());
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    must(ucp_init(&params, config, &context_), "ucp_init");
    ucp_config_release(config);
    ucp_worker_params_t worker_params{};
    worker_params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker_params.thread_mode = UCS_THREAD_MODE_SINGLE;
    must(ucp_worker_create(context_, &worker_params, &worker_), "ucp_worker_create");
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = id_;
    handler.cb = receive;
    handler.arg = this;
    must(ucp_worker_set_am_recv_handler(worker_, &handler), "ucp_worker_set_am_recv_handler");
  }
  BareWire(const BareWire&) = delete;
  BareWire& operator=(const BareWire&) = delete;
  ~BareWire() override {
    ucp_worker_destroy(worker_);
    ucp_cleanup(context_);
  }

  Bytes address() override {
    ucp_address_t* address = nullptr;
    std::size_t bytes = 0;
    must(ucp_worker_get_address(worker_, &address, &bytes), "ucp_worker_get_address");
    const auto* first = reinterpret_cast<const std::byte*>(address);
    Bytes result(first, first + bytes);
    ucp_worker_release_address(worker_, address);
    return result;
  }

  void connect(ByteView address) override {
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    params.address = reinterpret_cast<const ucp_address_t*>(address.data());
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    must(ucp_ep_create(worker_, &params, &endpoint_), "ucp_ep_create");
  }

  void send(ByteView header, ByteView payload) override {
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
    param.cb.send = sent;
    param.user_data = this;
    param.flags = UCP_AM_SEND_FLAG_EAGER;
    const ucs_status_ptr_t request =
        ucp_am_send_nbx(endpoint_, id_, header.data(), header.size(), payload.data(), payload.size(), &param);
    if (UCS_PTR_IS_ERR(request)) must(UCS_PTR_STATUS(request), "ucp_am_send_nbx");
    if (request != nullptr) ++under_way_;
  }

  bool progress() override { return ucp_worker_progress(worker_) != 0; }
  std::size_t under_way() const override { return under_way_; }

 private:
  static void sent(void* request, ucs_status_t, void* self) {
    ucp_request_free(request);
    --static_cast<BareWire*>(self)->under_way_;
  }
  static ucs_status_t receive(void* self, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                              const ucp_am_recv_param_t*) {
    static_cast<BareWire*>(self)->on_message({static_cast<const std::byte*>(header), header_bytes},
                                             {static_cast<const std::byte*>(data), bytes});
    return UCS_OK;
  }

  const unsigned id_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  std::size_t under_way_ = 0;
};

}  // namespace

std::unique_ptr<Wire> make_bare_wire(const std::vector<std::pair<std::string, std::string>>& settings, unsigned id) {
  return std::make_unique<BareWire>(settings, id);
}

}  // namespace grapnel::testing
