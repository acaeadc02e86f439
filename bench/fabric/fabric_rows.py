# SPDX-License-Identifier: Apache-2.0
"""Rows of `bench fabric`: fabric/FIGURE/QUANTITY/STEP/DESIGN.

`time` is in µs as the paper's, of a machine that is emulated. What does not depend on the emulation's speed is beside it:
`messages` on the wire for each acquisition with its release (`delay`: from a release to the next acquisition), and `target`,
the processor time of the target's process for each acquisition, in µs: 0 where adapters do the work.
"""

import collections
import dataclasses
import json
import statistics

import fabric_jobs
import wire


@dataclasses.dataclass(frozen=True)
class Figure:
    number: int
    name: str
    unit: str  # of its steps
    numbers: tuple = (1,)
    quick: tuple = (1,)

    def steps(self, is_quick):
        return self.quick if is_quick else self.numbers


OVERHEAD = Figure(1, "overhead", "both")
DELAY = Figure(2, "delay", "hand_over")
CONCURRENCY = Figure(3, "concurrency", "origins", (1, 2, 4, 7), (1, 7))
CONTENDED = Figure(4, "contended", "origins", (1, 2, 4, 7), (1, 7))
COMPUTING = Figure(5, "computing", "threads", (0, 1, 2, 4), (0, 4))
PAIRS = Figure(6, "pairs", "to", (1, 2), (1, 2))
FIGURES = (OVERHEAD, DELAY, CONCURRENCY, CONTENDED, COMPUTING, PAIRS)
# Ranks, nodes, and the figures that a job of so many has.
SHAPES = ((2, 2, (OVERHEAD, COMPUTING)), (3, 3, (DELAY,)), (8, 8, (CONCURRENCY, CONTENDED)), (4, 2, (PAIRS,)))


@dataclasses.dataclass
class Row:
    name: str
    value: float
    unit: str
    runs: int
    low: float | None = None  # quartiles
    high: float | None = None
    note: str = ""
    disturbed: bool = False


def step_name(figure, number):
    if figure.unit == "to":
        return f"{number}_to_{number}"
    return figure.unit if figure.name in ("overhead", "delay") else f"{number}_{figure.unit}"


def designs_of(figure):
    return [*fabric_jobs.DESIGNS, *([fabric_jobs.WITHOUT_BACKOFF] if figure is CONTENDED else [])]


def names(figure, number, design):
    """The rows of one step."""
    step = step_name(figure, number)
    quantities = {"overhead": ["time/lock", "time/unlock", "time/both", "messages/both", "target/both"],
                  "delay": [f"time/{step}", f"messages/{step}"],
                  "contended": [f"messages/{step}", f"target/{step}"]}
    wanted = quantities.get(figure.name, [f"{one}/{step}" for one in ("time", "messages", "target")])
    return [f"fabric/{figure.name}/{one}/{design.name}" for one in wanted]


def note_of(frames, count):
    return ", ".join(f"{name} {number / count:.2f}" for name, number in sorted(frames.items()))


def rows_of_step(figure, number, design, step, frames):
    is_disturbed = bool(step.disturbed)
    for name in names(figure, number, design):
        quantity, part = name.split("/")[2:4]
        if quantity == "time":
            low, median, high = (value / 1e3 for value in step.times[part if part in step.times else "both"])
            rate = step.acquisitions * 1e9 / (step.end_ns - step.begin_ns)
            yield Row(name, median, "us", step.acquisitions, low, high, f"{rate:,.0f} a second of all origins", is_disturbed)
        elif quantity == "messages":
            note = f"{note_of(frames, step.acquisitions)}; the locks counted {step.counted / step.acquisitions:.2f}"
            yield Row(name, wire.messages_of(frames) / step.acquisitions, "messages", step.acquisitions, note=note,
                      disturbed=is_disturbed)
        else:
            yield Row(name, step.target_ns / step.acquisitions / 1e3, "us", step.acquisitions, disturbed=is_disturbed)


def rows_of_hand_overs(figure, design, hand_overs, count_frames):
    """Of each hand-over its time and what was on the wire within."""
    if not hand_overs:
        raise fabric_jobs.Failed("no hand-over was waited for")
    times = sorted((acquired - released) / 1e3 for released, acquired in hand_overs)
    frames = sum((count_frames(*one) for one in hand_overs), collections.Counter())
    time_name, messages_name = names(figure, 1, design)
    runs = len(times)
    yield Row(time_name, statistics.median(times), "us", runs, times[runs // 4], times[3 * runs // 4])
    yield Row(messages_name, wire.messages_of(frames) / runs, "messages", runs, note=note_of(frames, runs))


def measure(options, design, ranks, nodes, steps):
    """The rows of one job's `steps`: pairs of figure and number. Failed or wire.Lost where there are none."""
    words = [f"{figure.name}:{number}" for figure, number in steps]
    found, hand_overs, capture = fabric_jobs.run(options.build, design, ranks, nodes, 400 if options.quick else 1000, words)
    rows = []
    for (figure, number), word in zip(steps, words):
        if figure is DELAY:
            rows += rows_of_hand_overs(figure, design, hand_overs, capture.count)
            continue
        step = found.get(word)
        if step is None or step.acquisitions == 0:
            raise fabric_jobs.Failed(f"no acquisition in the step {word}")
        rows += rows_of_step(figure, number, design, step, fabric_jobs.frames_of_step(step, capture))
    return rows


def write(file, rows, failed):
    content = [{"scenario": "fabric", "limit": None, "ratio": None, "bar": None, "pass": None, "p99": None, "better": "lower",
                **dataclasses.asdict(row)} for row in rows]
    skipped = [{"name": name, "why": why} for name, why in failed.items()]
    file.write_text(json.dumps({"schema": 1, "rows": content, "skipped": skipped}, indent=1) + "\n", encoding="utf-8")
