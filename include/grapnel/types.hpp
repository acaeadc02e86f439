// The words of the model that appear in every interface: rank, node, bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace grapnel {

/// A process of the job, 0 … size−1. An enum, so that it cannot be swapped with a count or a node.
enum class Rank : std::int32_t {};

/// A group of ranks that share memory, 0 … node count−1.
enum class NodeId : std::int32_t {};

constexpr std::size_t index(Rank rank) { return static_cast<std::size_t>(rank); }
constexpr std::size_t index(NodeId node) { return static_cast<std::size_t>(node); }

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;
using ByteSpan = std::span<std::byte>;

}  // namespace grapnel
