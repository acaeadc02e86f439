// Pages whose `busy` a rank holds; given back at the end of the scope.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/check.hpp"
#include "dsm/heap.hpp"

namespace grapnel::dsm {

class Heap::Taken {
 public:
  explicit Taken(Heap& heap) : heap_(heap) {}
  ~Taken() { give_back(); }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

  /// Waits for the page. They ascend, so no two ranks wait for each other. Errors: peer_dead.
  Status add(std::size_t page) {
    GRAPNEL_ASSERT(pages_.empty() || pages_.back() < page, "page {} is taken after page {}", page, pages_.back());
    GRAPNEL_TRY(heap_.memory_.words(page).take(heap_.core_.waiting, page));
    pages_.push_back(page);
    return {};
  }
  /// Where the page is free at once. A rank that waits for none may take them in any order.
  bool try_add(std::size_t page) {
    if (!heap_.memory_.words(page).try_take()) return false;
    pages_.push_back(page);
    return true;
  }
  void give_back() {
    for (const std::size_t page : pages_) heap_.memory_.words(page).give_back(heap_.core_.host);
    pages_.clear();
  }

 private:
  Heap& heap_;
  std::vector<std::size_t> pages_;
};

}  // namespace grapnel::dsm
