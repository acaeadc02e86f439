# SPDX-License-Identifier: Apache-2.0
"""The paper's claims of its figures 1 to 6, each held against the rows of `bench fabric`, and a sentence for each figure.

Of times only orders and ratios count, since the machine is emulated. A claim whose rows are missing is not judged.
"""

import dataclasses
from collections.abc import Callable

import fabric_rows

THREADS, ATOMICS = ("dedicated_thread", "event_driven"), ("test_and_set", "mcs_by_cas")
DESIGNS = (*THREADS, *ATOMICS, "ticket")
UNITS = {"time": "µs", "target": "µs of the target's processor", "messages": "messages"}
CONSTANT, GROWS = 1.5, 2.0  # ratios of two steps


class Values:
    """Of one figure: `values("time", "both", "ticket")`; KeyError where there is no such row."""

    def __init__(self, figure, rows):
        self.prefix = f"fabric/{figure}/"
        self.by_name = {row.name: row.value for row in rows}

    def __call__(self, quantity, step, design):
        return self.by_name[f"{self.prefix}{quantity}/{step}/{design}"]

    def ordered(self, quantity, step):
        """Pairs of value and design, the least first."""
        found = ((self.by_name.get(f"{self.prefix}{quantity}/{step}/{design}"), design) for design in DESIGNS)
        return sorted((value, design) for value, design in found if value is not None)

    def ratio(self, quantity, step, first, design):
        return self(quantity, step, design) / self(quantity, first, design)


@dataclasses.dataclass(frozen=True)
class Claim:
    text: str
    holds: Callable


def all_of(designs, holds):
    return lambda v: all([holds(v, design) for design in designs])


def is_before(quantity, step, first, second):
    return lambda v: v(quantity, step, first) < v(quantity, step, second)


def written(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def times(step):
    def shown(v):
        return "µs: " + ", ".join(f"{design} {value:,.0f}" for value, design in v.ordered("time", step))
    return shown


def growth(quantity, first, last):
    def shown(v):
        both = {design: value for value, design in v.ordered(quantity, last)}
        start = {design: value for value, design in v.ordered(quantity, first)}
        pairs = [f"{design} {written(start[design])} to {written(both[design])}" for design in DESIGNS if design in both and design in start]
        return f"{UNITS[quantity]} from {first} to {last}: " + ", ".join(pairs)
    return shown


@dataclasses.dataclass(frozen=True)
class Judgement:
    paper: str
    shown: tuple  # functions of Values, each a text
    claims: tuple


def delay_messages(v):
    return "messages from release to acquisition: " + ", ".join(
        f"{design} {value:.1f}" for value, design in v.ordered("messages", "hand_over"))


FIGURES = {
    "overhead": Judgement(
        "Test-and-Set is fastest, then the dedicated thread, then MCS, and the event-driven thread is slowest.",
        (times("both"),),
        (Claim("test_and_set is before every other design of the paper",
               all_of((*THREADS, "mcs_by_cas"), lambda v, one: v("time", "both", "test_and_set") < v("time", "both", one))),
         Claim("dedicated_thread is before mcs_by_cas", is_before("time", "both", "dedicated_thread", "mcs_by_cas")),
         Claim("event_driven is last",
               all_of((*ATOMICS, "dedicated_thread"), lambda v, one: v("time", "both", one) < v("time", "both", "event_driven"))))),
    "delay": Judgement(
        "MCS hands over by one message, all others need a round trip; atomics are before threads.",
        (times("hand_over"), delay_messages),
        (Claim("mcs_by_cas hands over by one message", lambda v: v("messages", "hand_over", "mcs_by_cas") < 1.5),
         Claim("the other designs need two or more",
               all_of((*THREADS, "test_and_set"), lambda v, one: v("messages", "hand_over", one) >= 1.9)),
         Claim("mcs_by_cas is first",
               all_of((*THREADS, "test_and_set"), lambda v, one: v("time", "hand_over", "mcs_by_cas") < v("time", "hand_over", one))),
         Claim("atomics are before threads",
               lambda v: max(v("time", "hand_over", one) for one in ATOMICS) < min(v("time", "hand_over", one) for one in THREADS)))),
    "concurrency": Judgement(
        "With a window for each origin the time of both atomic designs is constant, that of both threads grows.",
        (growth("time", "1_origins", "7_origins"), growth("target", "1_origins", "7_origins")),
        (Claim("the target's processor does nothing for atomics, and something for threads",
               lambda v: 20 * max(v("target", "7_origins", one) for one in ATOMICS) < min(v("target", "7_origins", one) for one in THREADS)),
         Claim("the time of atomics is constant", all_of(ATOMICS, lambda v, one: v.ratio("time", "7_origins", "1_origins", one) < CONSTANT)),
         Claim("the time of threads grows", all_of(THREADS, lambda v, one: v.ratio("time", "7_origins", "1_origins", one) >= GROWS)))),
    "contended": Judgement(
        "Both threads send 3 messages whatever the number of origins; with seven, back-off brings Test-and-Set from 9 to 3, and MCS by "
        "compare-and-swap needs about 7.",
        (growth("messages", "1_origins", "7_origins"),),
        (Claim("threads send 3", all_of(THREADS, lambda v, one: all(2.8 < v("messages", step, one) < 3.3 for step in ("1_origins", "7_origins")))),
         Claim("test_and_set needs more without back-off",
               lambda v: v("messages", "7_origins", "test_and_set") < 0.8 * v("messages", "7_origins", "test_and_set_without_backoff")),
         Claim("mcs_by_cas grows", lambda v: v.ratio("messages", "7_origins", "1_origins", "mcs_by_cas") > 1.2))),
    "computing": Judgement(
        "The time of both atomic designs and of the event-driven thread is constant, that of the dedicated thread grows.",
        (growth("time", "0_threads", "4_threads"), growth("target", "0_threads", "4_threads")),
        (Claim("atomics are constant", all_of(ATOMICS, lambda v, one: v.ratio("time", "4_threads", "0_threads", one) < CONSTANT)),
         Claim("event_driven is constant", lambda v: v.ratio("time", "4_threads", "0_threads", "event_driven") < CONSTANT),
         Claim("dedicated_thread grows", lambda v: v.ratio("time", "4_threads", "0_threads", "dedicated_thread") >= GROWS))),
    "pairs": Judgement(
        "Two pairs on two nodes take what one takes with both atomic designs; with the dedicated thread they take more.",
        (growth("time", "1_to_1", "2_to_2"), growth("target", "1_to_1", "2_to_2")),
        (Claim("atomics are constant", all_of(ATOMICS, lambda v, one: v.ratio("time", "2_to_2", "1_to_1", one) < CONSTANT)),
         Claim("dedicated_thread grows more than atomics",
               lambda v: v.ratio("time", "2_to_2", "1_to_1", "dedicated_thread") >
               1.2 * max(v.ratio("time", "2_to_2", "1_to_1", one) for one in ATOMICS)))),
}


def judged(figure, rows):
    """Pairs of a claim's text and whether it holds; None: not measured."""
    values = Values(figure, rows)
    for claim in FIGURES[figure].claims:
        try:
            yield claim.text, claim.holds(values)
        except (KeyError, ZeroDivisionError):
            yield claim.text, None


def sentences(figure, rows):
    """The lines below a figure's rows."""
    judgement, values = FIGURES[figure], Values(figure, rows)
    number = next(one.number for one in fabric_rows.FIGURES if one.name == figure)
    yield f"Figure {number}. The paper: {judgement.paper}"
    for shown in judgement.shown:
        yield f"  here, {shown(values)}"
    for text, holds in judged(figure, rows):
        yield f"  {'not measured' if holds is None else 'agrees' if holds else 'differs'}: {text}"
