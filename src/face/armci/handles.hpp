// A core handle inside the words of an armci_hdl_t.
//
// Programs leave handles on the stack and some never initialize them. The last word seals the others: words without a
// right seal count as a new handle, and a copy of one that was waited for names nothing (the core counts generations).
// Threads: a handle belongs to one thread at a time.
#pragma once

#include <cstring>

#include "face/armci/define.hpp"
#include "grapnel/handle.hpp"

namespace grapnel::armci {

class HandleWords {
 public:
  explicit HandleWords(armci_hdl_t* words) : words_(words) {
    if (words_ != nullptr && words_->word[kSeal] == seal(*words_)) std::memcpy(&handle_, words_->word, sizeof handle_);
  }
  ~HandleWords() {
    if (words_ == nullptr) return;
    *words_ = {};
    std::memcpy(words_->word, &handle_, sizeof handle_);
    words_->word[kSeal] = seal(*words_);
  }
  HandleWords(const HandleWords&) = delete;
  HandleWords& operator=(const HandleWords&) = delete;

  /// Null where the program gave none: the implicit handle.
  Handle* core() { return words_ == nullptr ? nullptr : &handle_; }
  /// What the words shall hold from now on.
  Handle& value() { return handle_; }

 private:
  static constexpr int kSeal = 3;
  static_assert(sizeof(Handle) <= kSeal * sizeof(unsigned));

  static unsigned seal(const armci_hdl_t& words) {
    unsigned mixed = 0x67726170U;
    for (int i = 0; i < kSeal; ++i) mixed = (mixed ^ words.word[i]) * 0x9e3779b1U;
    return mixed;
  }

  armci_hdl_t* words_;
  Handle handle_;
};

}  // namespace grapnel::armci
