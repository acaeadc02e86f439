// Messages made from the table of handlers that the layers register: for every handler, by the lengths of its entry and
// by what correct ranks sent it. A new handler is under the test without being named.
//
//   recorded   what this node's server received, in the attacker's name and for another rank's memory; some of its
//              words replaced by live values or moved by a little
//   composed   a body of an allowed length (sometimes another) from live values: addresses, keys of groups, ranks,
//              places
//
// Threads: the attacking rank's; recording, the turn of the server.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "progress/forger.hpp"

namespace grapnel::test {

struct Made {
  progress::HandlerId handler = 0;
  Bytes body, payload;
  std::uint32_t sender = 0;  ///< of what was recorded: the rank, or the server's node
  bool from_server = false;
};

/// The attacker, as messages name it, and the memory that it and others may write.
struct Attacker {
  std::uint32_t rank = 0, node = 0;
  int ranks = 0;
  std::size_t ground_bytes = 0;
  std::vector<std::uint64_t> grounds;  ///< by rank
};

class Generator {
 public:
  using Words = std::vector<std::uint64_t>;

  /// `live`: values that mean something in this job. No message names memory in `spared`.
  Generator(const progress::HandlerTable& table, std::uint64_t seed, Attacker attacker, Words live, ByteView spared)
      : table_(table),
        random_(seed),
        attacker_(std::move(attacker)),
        live_(std::move(live)),
        spared_(reinterpret_cast<std::uint64_t>(spared.data())) {
    spared_end_ = spared_ + spared.size();
    for (progress::HandlerId id = 0; id < progress::kHandlerLimit; ++id) {
      if (table.find(id) != nullptr) registered_.push_back(id);
    }
  }

  const std::vector<progress::HandlerId>& registered() const { return registered_; }
  base::Random& random() { return random_; }

  void record(progress::HandlerId id, const progress::Request& request) {
    const int origin = static_cast<int>(request.origin);
    const bool from_server = origin >= attacker_.ranks;
    std::vector<Made>& of_this = recorded_[id];
    const Made made{id, Bytes(request.body.begin(), request.body.end()),
                    Bytes(request.payload.begin(), request.payload.end()),
                    static_cast<std::uint32_t>(from_server ? origin - attacker_.ranks : origin), from_server};
    if (of_this.size() < kMostRecorded) return of_this.push_back(made);
    of_this[next_++ % kMostRecorded] = made;  // the latest are the ones that may still matter
  }

  Made make() {
    const progress::HandlerId id = registered_[random_.below(registered_.size())];
    for (;;) {
      const std::vector<Made>& of_this = recorded_[id];
      Made made;
      if (!of_this.empty() && random_.chance(0.8)) {
        made = of_this[random_.below(of_this.size())];
        if (random_.chance(0.7)) turn_round(made);
      } else {
        made = compose(id);
      }
      change(made);
      if (!names_spared(made.body)) return made;
    }
  }

 private:
  static constexpr std::size_t kMostRecorded = 32;

  Made compose(progress::HandlerId id) {
    const progress::Handler& handler = *table_.find(id);
    Made made{id, Bytes(random_.between(handler.least_body_bytes, handler.most_body_bytes)), some_payload()};
    for (std::size_t at = 0; at < made.body.size();) at += replace(made.body, at, random_.chance(0.5) ? 4 : 8);
    return made;
  }

  // As if the attacker had sent it, to another rank's memory.
  void turn_round(Made& made) {
    const std::uint32_t mine = made.from_server ? attacker_.node : attacker_.rank;
    for (std::size_t at = 0; at + 4 <= made.body.size(); at += 4) {
      std::uint32_t word = 0;
      std::memcpy(&word, made.body.data() + at, 4);
      if (word == made.sender || word == made.sender + 1) word += mine - made.sender;
      std::memcpy(made.body.data() + at, &word, 4);
    }
    const std::uint64_t here = attacker_.grounds[attacker_.rank];
    const std::uint64_t there = attacker_.grounds[random_.below(attacker_.grounds.size())];
    for (std::size_t at = 0; at + 8 <= made.body.size(); at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, made.body.data() + at, 8);
      if (word - here < attacker_.ground_bytes) word += there - here;
      std::memcpy(made.body.data() + at, &word, 8);
    }
  }

  // Nothing, one, or a few words.
  void change(Made& made) {
    const std::size_t changes = random_.chance(0.4) ? 0 : random_.between(1, 3);
    for (std::size_t i = 0; i < changes && !made.body.empty(); ++i) {
      const std::size_t width = std::size_t{1} << random_.between(0, 3);
      const std::size_t at = random_.below(made.body.size()) / width * width;
      random_.chance(0.5) ? move_by_little(made.body, at, width) : static_cast<void>(replace(made.body, at, width));
    }
    if (random_.chance(0.05)) made.body.resize(random_.below(progress::kMaxBodyBytes + 1));
    if (random_.chance(0.15)) made.payload = some_payload();
    if (random_.chance(0.1)) made.payload.resize(made.payload.size() / 8 * 8 + 8 * random_.below(4));
  }

  std::size_t replace(Bytes& bytes, std::size_t at, std::size_t width) {
    std::uint64_t value = live_[random_.below(live_.size())];
    if (random_.chance(0.3)) value = random_.below(6);
    if (random_.chance(0.05)) value = random_.next();
    if (random_.chance(0.03)) value = UINT64_MAX >> random_.below(64);
    width = std::min(width, bytes.size() - at);
    std::memcpy(bytes.data() + at, &value, width);
    return width;
  }
  void move_by_little(Bytes& bytes, std::size_t at, std::size_t width) {
    std::uint64_t value = 0;
    width = std::min(width, bytes.size() - at);
    std::memcpy(&value, bytes.data() + at, width);
    value += random_.below(5) - 2;
    std::memcpy(bytes.data() + at, &value, width);
  }
  Bytes some_payload() {
    constexpr std::size_t kLengths[] = {0, 0, 0, 1, 8, 16, 24, 100, 600, 4096, 4097};
    std::size_t length = kLengths[random_.below(std::size(kLengths))];
    if (random_.chance(0.005)) length = transport::kMaxPayloadBytes + 1;  // bulk
    Bytes payload(length);
    for (std::size_t i = 0; i < std::min<std::size_t>(length, 600); ++i) {
      payload[i] = static_cast<std::byte>(random_.chance(0.5) ? random_.below(4) : random_.next());
    }
    return payload;
  }
  bool names_spared(const Bytes& body) const {
    for (std::size_t at = 0; at + 8 <= body.size(); at += 8) {
      std::uint64_t value = 0;
      std::memcpy(&value, body.data() + at, 8);
      if (value >= spared_ && value < spared_end_) return true;
    }
    return false;
  }

  const progress::HandlerTable& table_;
  base::Random random_;
  const Attacker attacker_;
  const Words live_;
  std::uint64_t spared_, spared_end_ = 0;
  std::vector<progress::HandlerId> registered_;
  std::array<std::vector<Made>, progress::kHandlerLimit> recorded_;
  std::size_t next_ = 0;
};

}  // namespace grapnel::test
