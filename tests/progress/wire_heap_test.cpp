// Answers about pages of the shared heap that no correct node gives.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "progress/wire_world.hpp"

namespace grapnel::test {
namespace {

// The server's handlers of that name answer so from now on.
void answer_by(Runtime& g, const char* name, const std::function<progress::Outcome(progress::Request&)>& act) {
  Forger forger(g);
  with_turn(forger, [&] {
    auto& table = g.implementation().server->handlers();
    for (progress::HandlerId id = 0; id < progress::kHandlerLimit; ++id) {
      if (table.find(id) == nullptr || std::strcmp(table.find(id)->name, name) != 0) continue;
      const_cast<progress::Handler&>(*table.find(id)).run = act;  // the table itself is not const
    }
  });
}

// It would be behind a barrier at which the rank that asks has not arrived; the rank waited for that without an end.
TEST(WireHeap, AHomeThatHasMovedInABarrierToComeEndsTheJob) {
  const std::string report = report_of({.ranks = 2, .nodes = 2}, [](Runtime& g) {
    auto opened = g.open_shared_heap({.bytes = base::kMiB});
    ASSERT_OK(opened.status());
    SharedHeap heap = *opened;
    auto* const word = static_cast<int*>(heap.base());
    if (index(g.rank()) == 1) heap.store(word, 7);  // so that it is at home there
    ASSERT_OK(heap.barrier());
    if (index(g.rank()) == 1) {
      answer_by(g, "fetch of pages", [](progress::Request& request) {
        request.answer({}, {});  // "its home has moved"
        return progress::Outcome::done;
      });
    }
    ASSERT_OK(g.barrier());
    if (index(g.rank()) == 0) {
      EXPECT_EQ(heap.load(word), 7);
    }
    static_cast<void>(g.barrier());
  });
  expect_sentence(report, "node 1 answers from behind barrier 2 of the shared heap");
}

}  // namespace
}  // namespace grapnel::test
