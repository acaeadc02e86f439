// SPDX-License-Identifier: Apache-2.0
#include "mpi/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "base/units.hpp"
#include "mpi/status.hpp"

namespace grapnel::mpi {
namespace {

constexpr std::uint64_t kFirstPause_ns = 5 * base::kMicrosecond_ns;
constexpr std::uint64_t kLongestPause_ns = base::kMillisecond_ns;
constexpr int kTestsBeforePauses = 50;

ByteView view_of(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

Status wait_for(MPI_Request& request, os::Host& host, const std::function<Status()>& health) {
  os::Word never{0};
  std::uint64_t pause_ns = kFirstPause_ns;
  for (int tests = 0;; ++tests) {
    int done = 0;
    if (const int code = PMPI_Test(&request, &done, MPI_STATUS_IGNORE); code != MPI_SUCCESS) {
      return failure("a fence", code);
    }
    if (done != 0) return {};
    GRAPNEL_TRY(health());
    if (tests < kTestsBeforePauses) {
      host.yield();
      continue;
    }
    host.wait(never, 0, pause_ns);
    pause_ns = std::min(2 * pause_ns, kLongestPause_ns);
  }
}

}  // namespace

// What MPI reads and writes during one fence.
struct Store::Round {
  Bytes mine;
  int my_bytes = 0;
  std::vector<int> bytes_of;
  std::vector<int> begin_of;
  Bytes all;
};

Status Store::open(MPI_Comm comm) {
  if (const int code = PMPI_Comm_dup(comm, &comm_); code != MPI_SUCCESS) {
    return failure("duplicating the communicator", code);
  }
  // Our failures come back as a Status; the program's communicator keeps its own handler.
  PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  if (const int code = PMPI_Comm_rank(comm_, &rank_); code != MPI_SUCCESS) return failure("asking for my rank", code);
  if (const int code = PMPI_Comm_size(comm_, &size_); code != MPI_SUCCESS) {
    return failure("asking for the number of ranks", code);
  }
  return {};
}

Status Store::close() {
  if (comm_ == MPI_COMM_NULL) return {};
  const int code = PMPI_Comm_free(&comm_);
  return code == MPI_SUCCESS ? Status() : failure("freeing the communicator", code);
}

void Store::publish(std::string_view key, ByteView value) { pending_.put_string(view_of(key)).put_string(value); }

Status Store::fence(os::Host& host, const std::function<Status()>& health) {
  auto round = std::make_unique<Round>();
  round->mine = pending_.take();
  pending_ = {};
  Status status = exchange_sizes(*round, host, health);
  if (status.ok()) status = exchange_values(*round, host, health);
  if (!status.ok()) {
    // MPI may still write to these buffers, and the job is ending: they stay.
    [[maybe_unused]] const Round* const abandoned = round.release();
    return status;
  }
  return keep(*round);
}

Status Store::exchange_sizes(Round& round, os::Host& host, const std::function<Status()>& health) {
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  round.my_bytes = static_cast<int>(std::min(round.mine.size(), kMost));
  round.bytes_of.resize(static_cast<std::size_t>(size_));
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = PMPI_Iallgather(&round.my_bytes, 1, MPI_INT, round.bytes_of.data(), 1, MPI_INT, comm_, &request);
  if (code != MPI_SUCCESS) return failure("a fence", code);
  GRAPNEL_TRY(wait_for(request, host, health));
  std::size_t sum = 0;
  for (const int bytes : round.bytes_of) {
    round.begin_of.push_back(static_cast<int>(std::min(sum, kMost)));
    sum += static_cast<std::size_t>(bytes);
  }
  // All ranks compute the same sum, so all stop here.
  if (sum >= kMost) {
    return Status(Code::refused, fmt::format("{} bytes were published for one fence; MPI counts up to {}", sum, kMost));
  }
  round.all.resize(sum);
  return {};
}

Status Store::exchange_values(Round& round, os::Host& host, const std::function<Status()>& health) {
  if (round.all.empty()) return {};  // no rank published: the exchange of sizes was the fence
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = PMPI_Iallgatherv(round.mine.data(), round.my_bytes, MPI_BYTE, round.all.data(),
                                    round.bytes_of.data(), round.begin_of.data(), MPI_BYTE, comm_, &request);
  if (code != MPI_SUCCESS) return failure("a fence", code);
  return wait_for(request, host, health);
}

Status Store::keep(const Round& round) {
  for (int rank = 0; rank < size_; ++rank) {
    const auto place = static_cast<std::size_t>(rank);
    base::Decoder decoder(ByteView(round.all).subspan(static_cast<std::size_t>(round.begin_of[place]),
                                                      static_cast<std::size_t>(round.bytes_of[place])));
    while (!decoder.rest().empty()) {
      const auto key = decoder.get_string();
      const auto value = key ? decoder.get_string() : std::nullopt;
      if (!value) return Status(Code::refused, fmt::format("what rank {} published cannot be read", rank));
      values_.insert_or_assign({rank, std::string(reinterpret_cast<const char*>(key->data()), key->size())},
                               Bytes(value->begin(), value->end()));
    }
  }
  return {};
}

Result<Bytes> Store::lookup(Rank rank, std::string_view key) const {
  const auto found = values_.find({static_cast<int>(rank), std::string(key)});
  if (found == values_.end()) {
    return Status(Code::invalid_argument,
                  fmt::format("rank {} has published nothing under \"{}\"", static_cast<int>(rank), key));
  }
  return found->second;
}

}  // namespace grapnel::mpi
