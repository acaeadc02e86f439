// A core handle inside the words of an armci_hdl_t.
//
// Programs leave handles on the stack and some never initialize them. The last word seals the others: words without a
// right seal count as a new handle, and a copy of one that was waited for names nothing (the core counts generations).
// Threads: a handle belongs to one thread at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "api/armci/define.hpp"
#include "grapnel/handle.hpp"

namespace grapnel::armci {

class HandleWords {
 public:
  explicit HandleWords(armci_hdl_t* words) : words_(words) {
    if (words_ == nullptr) return;
    sealed_ = words_->word[kSeal] == seal(words_->word);
    if (sealed_) std::memcpy(&handle_, words_->word, sizeof handle_);
  }
  /// Writes nothing where nothing changed, as when all went by shared memory.
  ~HandleWords() {
    if (words_ == nullptr) return;
    unsigned now[kSeal] = {};
    std::memcpy(now, &handle_, sizeof handle_);
    if (sealed_ && std::memcmp(now, words_->word, sizeof now) == 0) return;
    write(words_, now);
  }
  /// As new. Reads nothing: there may be no handle yet.
  static void reset(armci_hdl_t* words) {
    const Handle fresh{};
    unsigned now[kSeal] = {};
    std::memcpy(now, &fresh, sizeof fresh);
    write(words, now);
  }
  HandleWords(const HandleWords&) = delete;
  HandleWords& operator=(const HandleWords&) = delete;

  /// Null where the program gave none: the implicit handle.
  Handle* core() { return words_ == nullptr ? nullptr : &handle_; }
  /// What the words shall hold from now on.
  Handle& value() { return handle_; }

 private:
  static constexpr int kSeal = 3;
  static_assert(sizeof(Handle) == kSeal * sizeof(unsigned));

  static unsigned seal(const unsigned* word) {
    return (word[0] ^ (word[1] << 13) ^ (word[2] << 27) ^ 0x67726170U) * 0x9e3779b1U;
  }

  static void write(armci_hdl_t* words, const unsigned* now) {
    std::memcpy(words->word, now, kSeal * sizeof(unsigned));
    words->word[kSeal] = seal(now);
  }

  armci_hdl_t* words_;
  bool sealed_ = false;
  Handle handle_{};  // braces: its padding is part of the words, and zero
};

}  // namespace grapnel::armci
