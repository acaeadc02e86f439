// The suite that every transport passes, written against transport.hpp only.
//
// Include it in one file of an executable and instantiate it:
//   INSTANTIATE_TEST_SUITE_P(Ucx, TransportConformance, ::testing::Values(factory, ...));
// A factory makes a PeerGroup; see peer.hpp. Times are the host's, so that a virtual clock serves too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/conformance_atomics.hpp"
#include "transport/conformance_bulk.hpp"
#include "transport/conformance_ends.hpp"
#include "transport/conformance_messages.hpp"
#include "transport/conformance_waiting.hpp"
