"""The figures of the MPI paper (mpi2-passive, section 6) by MPI_Win_lock and MPI_Win_unlock, one picture each.

SPDX-License-Identifier: Apache-2.0
"""

import panels
import ratios
from panels import BLACK, BLUE, ORANGE, PURPLE, RED, SKY

# Colour, marker, line; those with an adapter's atomics are dash-dotted, the hosts dotted.
DESIGNS = {
    "dedicated_thread": (RED, "^", "-"),
    "event_driven": (ORANGE, "s", "-"),
    **{kind: panels.KINDS[kind] for kind in ["test_and_set", "mcs_by_cas", "mcs", "reader_writer"]},
    "adapter_test_and_set": (PURPLE, "x", "-."),
    "adapter_mcs_by_cas": (BLUE, "+", "-."),
    "openmpi": (SKY, "v", ":"),
    "mpich": (BLACK, "d", ":"),
}


WAITS = "waits for the target"  # in a row's note (bench/windows/paper.py)


def note(table, prefix):
    waiting = [design for design in DESIGNS if any(name.startswith(prefix) and name.endswith("/" + design) and
                                                   WAITS in row["note"] for name, row in table.by_name.items())]
    return (f"Rounds: {table.runs_of(prefix)}; their median, whiskers: quartiles; nodes share the processors of one machine. "
            "Times compare designs, not machines." + (f"\nWait for the target: {', '.join(waiting)}." if waiting else ""))


def points(table, name_of):
    return {design: table.point(name_of(design)) for design in DESIGNS}


def by_design(table, title, prefix, series, xlabel):
    """A line for each design, in it a dot for each of `series`: (name, colour, marker, points)."""
    made, axes = panels.figure(1, 1, (9, 5.6), title, note(table, prefix))
    shown = [design for design in DESIGNS if any(points[design] is not None for *_, points in series)]
    panels.dots(axes[0][0], shown, series, xlabel)
    return panels.finish(made, axes[0], 4)


def over(table, title, prefix, unit, xlabel, ylabel, below=""):
    """A curve for each design over the number N of `N_unit`."""
    made, axes = panels.figure(1, 1, (9, 5.6), title, below or note(table, prefix))
    xs = table.numbers(prefix, f"_{unit}/", "")
    panels.lines(axes[0][0], table, xs, lambda design, x: f"{prefix}{x}_{unit}/{design}", xlabel, ylabel, DESIGNS, DESIGNS)
    return panels.finish(made, axes[0], 4)


def overhead(table):
    series = [(part, colour, marker, points(table, lambda design, part=part: f"paper/overhead/{part}/{design}"))
              for part, colour, marker in [("lock", BLUE, "o"), ("unlock", ORANGE, "^"), ("both", BLACK, "D")]]
    return by_design(table, "Figure 1, overhead: MPI_Win_lock and MPI_Win_unlock of a free window", "paper/overhead/",
                     series, "time (µs)")


def delay(table):
    series = [("delay", BLACK, "D", points(table, lambda design: f"paper/delay/{design}"))]
    return by_design(table, "Figure 2, delay: from an unlock to the next one's completed put", "paper/delay/", series,
                     "delay (µs)")


def concurrency(table):
    return over(table, "Figure 3, concurrency: as many windows as origins", "paper/concurrency/", "origins",
                "origins, each with a window of its own", "lock + unlock (µs)")


def contended(table):
    return over(table, "Figure 4, messages: origins that compete for one lock; counted", "paper/contended/", "origins",
                "origins", "messages per acquisition, answers counted",
                f"Of {table.runs_of('paper/contended/')} acquisitions in all. One operation of an adapter counts as one message.")


def computing(table):
    return over(table, "Figure 5, computing threads at the target, which calls nothing of MPI", "paper/computing/", "threads",
                "computing threads", "lock + unlock (µs)")


def pairs(table):
    series = [(f"{n} to {n}", colour, marker, points(table, lambda design, n=n: f"paper/pairs/{n}_to_{n}/{design}"))
              for n, colour, marker in [(1, SKY, "o"), (2, BLACK, "D")]]
    return by_design(table, "Figure 6, one pair and two pairs of origin and target on two nodes", "paper/pairs/", series,
                     "lock + unlock (µs)")


def charts(table, scenario):
    drawn = False
    for draw in [overhead, delay, concurrency, contended, computing, pairs]:
        if any(name.startswith(f"paper/{draw.__name__}/") for name in table.by_name):
            drawn = True
            yield "windows_" + draw.__name__, draw(table)
    if not drawn:
        yield from ratios.charts(table, scenario)
