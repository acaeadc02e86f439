// What the operations put on the wire: handler numbers, bodies, and the layout of vector payloads.
//
//   put, accumulate:  body, payload = the data (packed)              counted; a reply only where the sender asks
//   put with signal:  the last message of the put; the word is set when its data is there
//   locate:           reply body = where the segment ends that holds the address, 0 where none does
//   get:              body; reply payload = the data (packed)
//   vector forms:     payload = the data (put, accumulate), then the runs, which say where it belongs (runs.hpp)
//   rmw:              body; reply body = the old value
//   update:           body, payload = the operands                   counted, as an accumulate
//   fetching update:  body, payload = the operands, none for Operation::none; reply payload = the old elements
//   compare:          body; reply body = the old value
//   updates of parts, and all of lent memory: body; payload = the data (if any), then the runs, as the vector forms
//   copies:           reply body = why process copies do not work among the node's ranks; 0: they do
//
// A contiguous put's data and a get's reply may be bulk (transport.hpp): then they are as long as the transfer.
//
// A strided or vector transfer is cut at exactly GRAPNEL_CHUNK_BYTES of packed data, so it takes ⌈bytes/chunk⌉ messages
// whatever its rows or pieces are. Runs stand beside the data: at worst seven times its length, and such a message is
// delivered whole all the same (transport::kMaxWholeBytes). Only where the server's window is less than sixteen chunks
// a vector message ends earlier, when its data and runs take half a window.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "grapnel/element.hpp"
#include "grapnel/reduction.hpp"
#include "grapnel/shape.hpp"
#include "progress/message.hpp"

namespace grapnel::rma {

inline constexpr progress::HandlerId kPutHandler = 1;
inline constexpr progress::HandlerId kGetHandler = 2;
inline constexpr progress::HandlerId kAccumulateHandler = 3;
inline constexpr progress::HandlerId kPutStridedHandler = 4;
inline constexpr progress::HandlerId kGetStridedHandler = 5;
inline constexpr progress::HandlerId kAccumulateStridedHandler = 6;
inline constexpr progress::HandlerId kPutVectorHandler = 7;
inline constexpr progress::HandlerId kGetVectorHandler = 8;
inline constexpr progress::HandlerId kAccumulateVectorHandler = 9;
inline constexpr progress::HandlerId kRmwHandler = 10;
inline constexpr progress::HandlerId kUpdateHandler = 11;
inline constexpr progress::HandlerId kFetchingUpdateHandler = 12;
inline constexpr progress::HandlerId kCompareHandler = 13;
inline constexpr progress::HandlerId kUpdateVectorHandler = 14;
inline constexpr progress::HandlerId kFetchingUpdateVectorHandler = 15;
inline constexpr progress::HandlerId kPutLentHandler = 16;
inline constexpr progress::HandlerId kGetLentHandler = 17;
inline constexpr progress::HandlerId kCompareLentHandler = 18;
inline constexpr progress::HandlerId kCopiesHandler = 19;
inline constexpr progress::HandlerId kPutSignalHandler = 20;
inline constexpr progress::HandlerId kPutStridedSignalHandler = 21;
inline constexpr progress::HandlerId kLocateHandler = 22;

/// One element of any type; the factor of an accumulate.
struct Scale {
  std::byte bytes[16] = {};
};

/// An accumulate's arithmetic; ignored by put and get.
struct Arithmetic {
  ElementType type{};
  Scale scale;
  std::byte unused[7] = {};  ///< to the length that bodies would give it: what lies between members travels, too
};

struct ContiguousBody {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};
struct AccumulateBody {
  ContiguousBody target;
  Arithmetic arithmetic;
};
struct StridedBody {
  std::uint64_t base = 0;
  std::uint64_t first = 0;  ///< where in the packed order this message's data begins
  std::uint64_t bytes = 0;
  Arithmetic arithmetic;
  Strided shape;
};
struct VectorBody {
  std::uint64_t base = 0;   ///< what the first run's gap is counted from
  std::uint64_t bytes = 0;  ///< of data, all runs together
  Arithmetic arithmetic;
};

/// What an update does to each element: an operation on numbers of a type.
struct Update {
  grapnel::Operation operation{};
  NumberType number{};
  std::byte unused[6] = {};
};
/// No message of a fetching update covers more stripes: the server takes them all at once.
inline constexpr std::size_t kMostStripesFetched = 16;
struct UpdateBody {
  ContiguousBody target;
  Update update;
};
/// Of 1, 2, 4 or 8 bytes, which lie at the front of the values.
struct CompareBody {
  ContiguousBody target;
  std::uint64_t expected = 0, desired = 0;
};

/// The parts of an update, or of a transfer with memory that a rank has lent (segment/lent.hpp).
inline constexpr std::int64_t kInSegments = -1;
struct PartsBody {
  std::uint64_t base = 0;            ///< what the first run's gap is counted from
  std::uint64_t bytes = 0;           ///< of data, all runs together
  Update update;                     ///< ignored by put and get
  std::int64_t owner = kInSegments;  ///< or the rank that has lent the memory
};
struct CompareLentBody {
  CompareBody compare;
  std::int64_t owner = 0;
};

constexpr bool is_compared_width(std::uint64_t bytes) { return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8; }

/// A 32-bit word that is set when the data of a put is there.
struct Signal {
  std::uint64_t address = 0;
  std::int64_t value = 0;
};
struct PutSignalBody {
  ContiguousBody target;  ///< may be empty: the data came before
  Signal signal;
};
struct StridedSignalBody {
  StridedBody target;
  Signal signal;
};
struct LocateBody {
  std::uint64_t address = 0;
};

enum class RmwOperation : std::uint32_t { fetch_and_add, swap, compare_and_swap };

struct RmwBody {
  std::uint64_t address = 0;
  RmwOperation operation{};
  std::uint32_t width_bytes = 0;  ///< 4 or 8
  std::int64_t operand = 0;
  std::int64_t expected = 0;  ///< compare_and_swap only
};

/// What lies between a shape's levels and its counts travels, too, and would be whatever lay on the sender's stack.
inline void clear_padding(Strided& shape) {
  static_assert(offsetof(Strided, count) == 2 * sizeof(shape.levels));
  std::memset(reinterpret_cast<std::byte*>(&shape) + sizeof shape.levels, 0, sizeof shape.levels);
}

static_assert(sizeof(StridedSignalBody) <= progress::kMaxBodyBytes);

template <typename... Bodies>
inline constexpr bool kNoPadding = (std::has_unique_object_representations_v<Bodies> && ...);
static_assert(kNoPadding<ContiguousBody, AccumulateBody, VectorBody, PutSignalBody, LocateBody, RmwBody, UpdateBody,
                         CompareBody, PartsBody, CompareLentBody>);

}  // namespace grapnel::rma
