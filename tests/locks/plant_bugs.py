#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copies src/locks into OUT and plants the bugs that the lock suite has to find.

usage: plant_bugs.py SRC OUT

Each bug is one place of the source, changed so that it is wrong while `grapnel::test::planted_bug` has the bug's number and
right otherwise: one build serves all. A place that is not found exactly once is an error, so the list follows the
source. mutant_test.cpp says which kind of lock shows which bug.
"""

import shutil
import sys
from pathlib import Path

BUGS = [
    # (number, file, right, wrong where BUG)
    (1, "server_queue.cpp", "    case Verb::enqueue:\n      if (queue.held) {", "    case Verb::enqueue:\n      if (queue.held && !BUG) {"),
    (2, "ticket.cpp", "if (serving == a.ticket) {", "if (serving == a.ticket || (BUG && serving + 1 == a.ticket)) {"),
    (3, "ticket_server.hpp", "words.serving.store(next);", "words.serving.store(BUG ? next + 1 : next);"),
    (4, "armci_hybrid.cpp", "words.away.fetch_add(1);", "words.away.fetch_add(BUG ? 0 : 1);"),
    (5, "armci_hybrid.cpp", "waiter.gave_up = true;", "waiter.gave_up = !BUG;"),
    (6, "test_and_set.cpp", "if (seen != 0) return seen;", "if (seen != 0) return BUG ? 0 : seen;"),
    (7, "mcs_queue.cpp", "if (next.compare_exchange_strong(behind, kReleased)) {",
     "if (BUG ? next.load() == 0 : next.compare_exchange_strong(behind, kReleased)) {"),
    (8, "mcs_queue.cpp", "if (wake_waiter(*member)) return true;", "if (wake_waiter(*member) || BUG) return true;"),
    (9, "mcs_queue.cpp", "if (lost_race(a)) return", "if (lost_race(a) && !BUG) return"),
    (10, "cohort.cpp", "if (passed != NodeQueue::kPassedLock && !context_.one_node) return",
     "if (passed != NodeQueue::kPassedLock && !context_.one_node && !BUG) return"),
    (11, "node_queue.cpp", "if (found < kFirstGaveUp) {", "if (found < kFirstGaveUp || BUG) {"),
    (12, "reader_writer_home.cpp", "v.recalled = v.readers != 0;", "v.recalled = v.readers != 0 && !BUG;"),
    (13, "reader_writer.cpp", "} else if (v.recalled) {", "} else if (v.recalled && !BUG) {"),
    (14, "reader_writer.hpp", "return !v.writer && !v.writer_waits &&", "return (!v.writer || BUG) && !v.writer_waits &&"),
    (15, "mcs_queue.cpp", "context_.memory.keep(places_.line(lock, member_of(place)), 0, payload);\n    if (",
     "if (!BUG) context_.memory.keep(places_.line(lock, member_of(place)), 0, payload);\n    if ("),
    (16, "mcs_queue.cpp", "if (state == kAsleep || state == kAwaited) context_", "if ((state == kAsleep && !BUG) || state == kAwaited) context_"),
    (17, "node_queue.cpp", "if (found == kSleeps) context_", "if (found == kSleeps && !BUG) context_"),
    (18, "ticket_server.hpp", "    context_.waiting.host().wake(words.serving);", "    if (!BUG) context_.waiting.host().wake(words.serving);"),
    (19, "reader_writer.cpp", "  context_.waiting.host().wake(words.bell);", "  if (!BUG) context_.waiting.host().wake(words.bell);"),
    (20, "shared_mode.cpp", "return tally.since_writer == 0 || have_left(", "return tally.since_writer == 0 || BUG || have_left("),
    (21, "shared_mode.cpp", "  tally.since_writer = 1;", "  tally.since_writer = BUG ? 0 : 1;"),
    (22, "shared_mode.cpp", "{admitted_[lock.ordinal], 0}", "{BUG ? 0 : admitted_[lock.ordinal], 0}"),
    (23, "shared_mode.cpp", "  if (awaiter == kHere) context_.waiting.host().wake(readers(lock).left);",
     "  if (awaiter == kHere && !BUG) context_.waiting.host().wake(readers(lock).left);"),
    (24, "shared_mode.cpp", "return awaiter == kElsewhere ?", "return awaiter == kElsewhere && !BUG ?"),
    (25, "shared_mode.cpp", "  if (!none) return step_back(a);\n  hold(a);\n  return {};\n}\n\nStatus SharedMode::attempt",
     "  if (!none && !BUG) return step_back(a);\n  hold(a);\n  return {};\n}\n\nStatus SharedMode::attempt"),
    (26, "shared_mode.cpp", "&& have_left(lock, found->second.admitted)) answer_waiter",
     "&& (BUG || have_left(lock, found->second.admitted))) answer_waiter"),
    (27, "reader_writer_home.cpp", "return !home.sole && (", "return (!home.sole || (BUG && joins)) && ("),
    (28, "reader_writer.hpp", "return !v.writer && (context_.one_node ||", "return (!v.writer || BUG) && (context_.one_node ||"),
    (29, "reader_writer_home.cpp", "const bool recalled = !home.writers.empty();", "const bool recalled = !home.writers.empty() && !BUG;"),
    (30, "shared_mode.cpp", "if (awaited >> 32 == kNone || inside <= 0) return false;",
     "if ((awaited >> 32 == kNone || inside <= 0) && !BUG) return false;"),
    (31, "shared_mode.cpp", "compare_exchange_weak(left, left - 1)", "compare_exchange_weak(left, BUG ? left : left - 1)"),
]

DECLARATION = "namespace grapnel::test {\nextern int planted_bug;\n}\n"


def main():
    source, out = Path(sys.argv[1]), Path(sys.argv[2])
    shutil.rmtree(out / "locks", ignore_errors=True)
    shutil.copytree(source, out / "locks")
    for number, name, right, wrong in BUGS:
        path = out / "locks" / "kinds" / name
        text = path.read_text()
        if text.count(right) != 1:
            sys.exit(f"plant_bugs: bug {number}: {name} has {text.count(right)} places like this, not one:\n{right}")
        text = text.replace(right, wrong.replace("BUG", f"(::grapnel::test::planted_bug == {number})"))
        if DECLARATION not in text:
            first_include = text.index("#include")
            text = text[:first_include] + DECLARATION + text[first_include:]
        path.write_text(text)


if __name__ == "__main__":
    main()
