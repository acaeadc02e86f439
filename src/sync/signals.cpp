// SPDX-License-Identifier: Apache-2.0
#include "sync/signals.hpp"

#include <fmt/format.h>

#include "base/codec.hpp"
#include "sync/messages.hpp"

namespace grapnel::sync {
namespace {

constexpr std::uint32_t kSleeps = 1;  ///< of a word; the count is above it

os::Word& at(void* word) { return *static_cast<os::Word*>(word); }

bool is_amount(std::uint64_t amount) { return amount > 0 && amount <= Signals::kMostAdded; }

// By difference, of 31 bits: the sleepers' bit is shifted out.
bool has_reached(std::uint32_t value, std::uint32_t count) {
  return static_cast<std::int32_t>((value & ~kSleeps) - (count << 1)) >= 0;
}

}  // namespace

Signals::Signals(core::Core& core, rma::Rma& rma, progress::HandlerId handler)
    : launch_(core.launch),
      segments_(core.segments),
      waiting_(core.waiting),
      client_(core.client),
      rma_(rma),
      handler_(handler) {
  if (core.server == nullptr) return;
  core.server->handlers().add(handler_, {"signal", sizeof(SignalBody), sizeof(SignalBody), false,
                                         [this](progress::Request& request) { return run(request); }});
}

progress::Outcome Signals::run(progress::Request& request) {
  const auto body = request.body_as<SignalBody>();
  const auto pin = segments_.pin();
  auto* const word = reinterpret_cast<void*>(body.word);
  if (!is_amount(body.amount) || !request.payload.empty() || !is_word(word)) return progress::Outcome::refused;
  increase(word, static_cast<std::uint32_t>(body.amount));
  return progress::Outcome::done;
}

bool Signals::is_word(const void* word) const {
  return reinterpret_cast<std::uintptr_t>(word) % sizeof(os::Word) == 0 && segments_.contains(word, sizeof(os::Word));
}

void Signals::increase(void* word, std::uint32_t amount) {
  // release: the waiter's acquire sees what was written before.
  const std::uint32_t before = at(word).fetch_add(amount << 1, std::memory_order_release);
  if ((before & kSleeps) == 0) return;
  at(word).fetch_and(~kSleeps, std::memory_order_relaxed);  // a thread that sleeps after this has set it anew
  waiting_.host().wake(at(word));
}

Status Signals::add(void* word, std::uint32_t amount, Rank target) {
  if (!is_amount(amount)) {
    return Status(Code::invalid_argument, fmt::format("signal: it adds {}; 1 to {} are possible", amount, kMostAdded));
  }
  if (reinterpret_cast<std::uintptr_t>(word) % sizeof(os::Word) != 0) {
    return Status(Code::invalid_argument, fmt::format("signal: {} is not aligned to {} bytes", word, sizeof(os::Word)));
  }
  GRAPNEL_TRY(rma_.check_place(word, sizeof(os::Word), target, "signal"));
  const NodeId node = launch_.nodes().node_of[index(target)];
  if (node == launch_.node()) {
    counts_.shared.add(1);
    increase(word, amount);
    return {};
  }
  const SignalBody body{reinterpret_cast<std::uint64_t>(word), amount};
  progress::OutgoingRequest request;
  request.handler = handler_;
  request.body = base::bytes_of(body);
  request.write = true;
  progress::Client::Guard guard(*client_);
  const std::uint64_t messages = client_->messages();
  GRAPNEL_TRY(rma_.before_messages(node));
  GRAPNEL_TRY(client_->send(node, request).status());
  counts_.wire.add(1);
  counts_.messages.add(client_->messages() - messages);
  return client_->drain(node);
}

Status Signals::check_mine(const void* word, const char* what) const {
  if (is_word(word)) return {};
  return Status(Code::invalid_argument, fmt::format("{}: {} is no aligned word in a segment of this node", what, word));
}

Status Signals::wait(void* word, std::uint32_t count) {
  GRAPNEL_TRY(check_mine(word, "wait for a signal"));
  const auto mark = [word](std::uint32_t& seen) {
    if ((seen & kSleeps) != 0) return true;
    if (!at(word).compare_exchange_strong(seen, seen | kSleeps, std::memory_order_relaxed)) return false;
    seen |= kSleeps;
    return true;
  };
  return waiting_.on_marked_word(
      at(word), [count](std::uint32_t value) { return has_reached(value, count); }, mark, progress::Waiting::kForever,
      [word, count] {
        const auto seen = at(word).load(std::memory_order_relaxed) >> 1;
        return progress::WaitSubject{progress::WaitKind::signal, "wait for a signal", {seen, count}};
      });
}

Result<bool> Signals::test(void* word, std::uint32_t count) {
  GRAPNEL_TRY(check_mine(word, "test a signal"));
  if (has_reached(at(word).load(std::memory_order_acquire), count)) return true;
  GRAPNEL_TRY(waiting_.health());
  waiting_.host().relax();  // a caller tests again and again
  return false;
}

std::uint32_t Signals::count_of(const void* word) {
  return static_cast<const os::Word*>(word)->load(std::memory_order_acquire) >> 1;
}

}  // namespace grapnel::sync
