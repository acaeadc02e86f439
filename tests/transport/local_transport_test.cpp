// The conformance suite over the local transport, in threads and in processes; and what only it has.
#include "transport/local/local_transport.hpp"

#include <gtest/gtest.h>

#include "transport/conformance.hpp"
#include "transport/process_peers.hpp"
#include "transport/thread_peers.hpp"

namespace grapnel::testing {
namespace {

constexpr std::uint64_t kSecret = 77;

Result<std::unique_ptr<transport::Transport>> make_transport(int, int) {
  return transport::make_local_transport(kSecret);
}

PeerGroupFactory threads() {
  return [] { return make_thread_peers(make_transport); };
}
PeerGroupFactory processes() {
  return [] { return make_process_peers(make_transport, {}); };
}

INSTANTIATE_TEST_SUITE_P(LocalThreads, TransportConformance, ::testing::Values(threads()));
INSTANTIATE_TEST_SUITE_P(LocalProcesses, TransportConformance, ::testing::Values(processes()));

}  // namespace
}  // namespace grapnel::testing
