// Home-based lazy release consistency: each page has a home, which has all that was released to it.
//
//   fetch.cpp     a miss: the directory names the home, and the home answers with the page
//   release.cpp   a release: diffs to the homes, and their acknowledgements
//
// Threads: as protocol.hpp.
// Source: Y. Zhou, L. Iftode, K. Li, "Performance evaluation of two home-based lazy release consistency protocols",
// OSDI 1996.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsm/protocol.hpp"

namespace grapnel::dsm {

class Hlrc final : public Protocol {
 public:
  explicit Hlrc(Heap& heap) : heap_(heap) {}

  Status make_valid(std::size_t page) override {
    const std::uint32_t home = home_of(page);
    if (home == 0) return heap_.find_home(page);
    return home == heap_.my_home() ? Status() : heap_.fetch(page);
  }
  Status publish(const std::vector<std::size_t>& pages, Heap::Taken& taken) override {
    return heap_.flush(pages, taken);
  }
  bool is_publishing(std::size_t page) const override { return heap_.memory_.words(page).busy.is_taken(); }
  bool twin_is_of_last_release() const override { return true; }
  Status name(const std::vector<std::size_t>&, std::uint64_t) override { return {}; }
  Result<bool> take_notice(std::size_t page, std::size_t, std::uint64_t) override {
    return home_of(page) != heap_.my_home();
  }
  bool takes_more_than_told() const override { return true; }

 private:
  std::uint32_t home_of(std::size_t page) const {
    return heap_.memory_.words(page).home.load(std::memory_order_acquire);
  }

  Heap& heap_;
};

}  // namespace grapnel::dsm
