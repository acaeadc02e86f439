"""The MPI paper's metrics of the locks (mpi2-passive, section 6), one picture each.

SPDX-License-Identifier: Apache-2.0
"""

import panels
from panels import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, SKY

MODES = {"poll": (RED, "^"), "event": (BLUE, "s"), "adaptive": (GREEN, "o")}
EXCLUSIVE = [kind for kind in panels.KINDS if kind != "reader_writer_shared"]
NODES = "nodes are virtual, all on this machine"


def note(table, prefix, text):
    return f"{text}  Median of {table.runs_of(prefix)} rounds, whiskers: quartiles; {NODES}."


def points(table, name_of, kinds=panels.KINDS):
    return {kind: table.point(name_of(kind)) for kind in kinds}


def overhead(table):
    made, axes = panels.figure(2, 3, (15, 9.5), "Overhead: acquire and release of a free lock",
                               note(table, "overhead/", "One origin, nobody else."))
    parts = [("acquire", BLUE, "o"), ("release", ORANGE, "^"), ("both", BLACK, "D")]

    def draw(ax, place, mode, unit, title):
        tail = f"/{mode}" if mode else ""
        series = [(part, colour, marker,
                   points(table, lambda kind, part=part: f"overhead/{place}/{kind}{tail}/{part}"))
                  for part, colour, marker in parts]
        panels.dots(ax, list(panels.KINDS), series, f"time ({unit})")
        ax.set_title(title)

    for ax, mode in zip(axes[0], MODES):
        draw(ax, "remote", mode, "µs", f"lock on another node, {mode}")
    panels.common_limits(axes[0], "x")
    draw(axes[1][0], "one_node", "", "ns", "lock on the same node, job of one node")
    draw(axes[1][1], "home", "event", "µs", "lock on the same node, job of two, event")
    draw(axes[1][2], "home", "adaptive", "µs", "lock on the same node, job of two, adaptive")
    panels.common_limits(axes[1][1:], "x")
    return panels.finish(made, axes.flat, 3)


def nonblocking(table):
    made, axes = panels.figure(1, 3, (15, 5.2), "Nonblocking acquire of a free lock on another node",
                               note(table, "nonblocking/", "The origin computes for 200 µs between start and wait."))
    for ax, mode in zip(axes[0], MODES):
        series = [
            ("blocking acquire", BLACK, "D", points(table, lambda kind: f"overhead/remote/{kind}/{mode}/acquire",
                                                    EXCLUSIVE)),
            ("start", BLUE, "o", points(table, lambda kind: f"nonblocking/remote/{kind}/{mode}/start", EXCLUSIVE)),
            ("wait, after computing", ORANGE, "^",
             points(table, lambda kind: f"nonblocking/remote/{kind}/{mode}/wait_after_200us", EXCLUSIVE)),
        ]
        panels.dots(ax, EXCLUSIVE, series, "time (µs)")
        ax.set_title(mode)
    panels.common_limits(axes[0], "x")
    return panels.finish(made, axes.flat, 3)


def delay(table):
    made, axes = panels.figure(1, 3, (17, 5.6), "Synchronization delay: from one's release to the next one's entry",
                               note(table, "delay/", "The next one has waited for about 0.7 ms, so it sleeps."))
    panels.dots(axes[0][0], EXCLUSIVE,
                [("one node", PURPLE, "D", points(table, lambda kind: f"delay/one_node/{kind}", EXCLUSIVE))],
                "delay (µs)")
    axes[0][0].set_title("three ranks of one node")
    series = [(mode, colour, marker, points(table, lambda kind, mode=mode: f"delay/nodes/{kind}/{mode}", EXCLUSIVE))
              for mode, (colour, marker) in MODES.items()]
    panels.dots(axes[0][1], EXCLUSIVE, series, "delay (µs)")
    axes[0][1].set_title("home and two origins, each a node of its own")
    panels.dots(axes[0][2], EXCLUSIVE,
                [("virtual time", BLACK, "P", points(table, lambda kind: f"sim/delay/{kind}/5ms_delay", EXCLUSIVE))],
                "delay (ms)", log=False)
    axes[0][2].set_xlim(left=0)
    axes[0][2].set_title("the same in virtual time, 5 ms one way")
    return panels.finish(made, axes.flat, 5)


# Readers whose node has the grant send nothing: a thousand times the others, beyond their scale.
def say_shared(ax, found):
    values = [point.value / 1e6 for point in found if point is not None]
    if values:
        ax.text(0.98, 0.98, f"reader_writer_shared: {min(values):.2g} to {max(values):.2g} million, not drawn",
                ha="right", va="top", transform=ax.transAxes, fontsize=8, color=GREEN)


def concurrency(table):
    made, axes = panels.figure(2, 4, (18, 10), "Concurrency: acquisitions per second, all origins together",
                               note(table, "concurrency/", "Origins acquire and release as fast as they can."))
    places = [("one_node", "")] + [("nodes", mode) for mode in MODES]
    for line, (locks, title) in enumerate([("one_lock", "one lock for all"), ("many_locks", "a lock for each")]):
        for ax, (place, mode) in zip(axes[line], places):
            tail = f"/{mode}" if mode else ""
            prefix = f"concurrency/{place}/{locks}/"
            xs = table.numbers(prefix, "_origins/", tail)
            kinds = EXCLUSIVE if mode else panels.KINDS
            panels.lines(ax, table, xs, lambda kind, x: f"{prefix}{x}_origins/{kind}{tail}", "origins", "1/s", kinds)
            if mode:
                say_shared(ax, [table.point(f"{prefix}{x}_origins/reader_writer_shared{tail}") for x in xs])
            ax.set_title(f"{title}: {'one node' if not mode else 'nodes, ' + mode}")
        panels.common_limits(axes[line][1:], "y")
    return panels.finish(made, axes.flat, 5)


def messages(table):
    made, axes = panels.figure(1, 4, (18, 6), "Message complexity: between nodes, answers counted",
                               note(table, "messages/contended/", "Counted by the runtime, exactly."))
    series = [(title, colour, marker, points(table, lambda kind, what=what: f"messages/{what}/{kind}", EXCLUSIVE))
              for what, title, colour, marker in [("free_acquire", "free acquire", BLUE, "o"),
                                                  ("free_release", "free release", ORANGE, "^"),
                                                  ("hand_off", "hand-off", BLACK, "D")]]
    first = axes[0][0]
    panels.dots(first, EXCLUSIVE, series, "messages", log=False)
    first.set_xlim(0, 3)
    first.set_xticks(range(4))
    first.set_title("one at a time")
    panels.legend_under(first)
    for ax, mode in zip(axes[0][1:], MODES):
        xs = table.numbers("messages/contended/", "_origins/", f"/{mode}")
        panels.lines(ax, table, xs, lambda kind, x: f"messages/contended/{x}_origins/{kind}/{mode}",
                     "origins that compete for one lock", "messages per acquisition")
        ax.set_title(f"contended, {mode}")
    panels.common_limits(axes[0][1:], "y")
    return panels.finish(made, axes[0][1:], 5)


def computing(table):
    made, axes = panels.figure(2, 3, (16, 11), "CPU use: threads that compute at the target",
                               note(table, "cpu/iteration", "Each node is bound to one processor."))
    for ax, mode in zip(axes[0], MODES):
        xs = table.numbers("cpu/iteration/", "_threads/", f"/{mode}")
        panels.lines(ax, table, xs, lambda kind, x: f"cpu/iteration/{x}_threads/{kind}/{mode}",
                     "computing threads at the target", "mean acquire + release (µs)", EXCLUSIVE)
        ax.set_title(f"as fast as it can, {mode}")
    panels.common_limits(axes[0], "y")
    for ax, threads in zip(axes[1], (1, 2, 4)):
        labels = ["(no lock traffic)"] + EXCLUSIVE
        series = []
        for mode, (colour, marker) in MODES.items():
            by_kind = points(table, lambda kind: f"cpu/loss/{threads}_threads/{kind}/{mode}", EXCLUSIVE)
            by_kind["(no lock traffic)"] = table.point(f"cpu/loss_at_rest/{threads}_threads/{mode}")
            series.append((mode, colour, marker, by_kind))
        panels.dots(ax, labels, series, "% of the process's time that the threads do not get", log=False)
        ax.set_xlim(left=min(0, ax.get_xlim()[0]))
        ax.set_title(f"1,000 acquisitions a second, {threads} thread{'s' if threads > 1 else ''}")
    panels.common_limits(axes[1], "x")
    panels.legend_under(axes[1][1])
    return panels.finish(made, axes[0], 4)


def assignment(table):
    made, axes = panels.figure(1, 4, (18, 5.4), "CPU use: origins and targets per node, and the target's processor time",
                               note(table, "cpu/assignment", "Each node is bound to one processor."))
    for ax, mode in zip(axes[0], MODES):
        series = [(f"{n} to {n}", colour, marker,
                   points(table, lambda kind, n=n: f"cpu/assignment/{n}_to_{n}/{kind}/{mode}", EXCLUSIVE))
                  for n, colour, marker in [(1, SKY, "o"), (2, BLACK, "D")]]
        panels.dots(ax, EXCLUSIVE, series, "mean acquire + release (µs)")
        ax.set_title(f"origins to targets, {mode}")
    panels.common_limits(axes[0][:3], "x")
    panels.legend_under(axes[0][1])
    series = [(mode, colour, marker, points(table, lambda kind, mode=mode: f"cpu/target_time/{kind}/{mode}", EXCLUSIVE))
              for mode, (colour, marker) in MODES.items()]
    panels.dots(axes[0][3], EXCLUSIVE, series, "target's processor time per acquisition (µs)")
    axes[0][3].set_title("what the target spends, 1 to 1")
    panels.legend_under(axes[0][3])
    return panels.finish(made)


def charts(table, _scenario):
    for prefix, draw in [("overhead/", overhead), ("nonblocking/", nonblocking), ("delay/", delay),
                         ("concurrency/", concurrency), ("messages/", messages), ("cpu/iteration/", computing),
                         ("cpu/assignment/", assignment)]:
        if any(name.startswith(prefix) for name in table.by_name):
            yield "locks_" + draw.__name__, draw(table)
