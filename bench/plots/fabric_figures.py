"""The pictures of `bench fabric`: the MPI paper's figures 1 to 6 over RDMA devices. Left the paper's time, of an emulated
machine; right what does not depend on its speed: messages on the wire, or the processor time of the target.

SPDX-License-Identifier: Apache-2.0
"""

import panels
import ratios
from panels import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, SKY

# Colour, marker, line.
DESIGNS = {
    "dedicated_thread": (RED, "^", "-"),
    "event_driven": (ORANGE, "s", "-"),
    "test_and_set": (PURPLE, "X", "-"),
    "test_and_set_without_backoff": (PURPLE, "x", "--"),
    "mcs_by_cas": (BLUE, "P", "-"),
    "ticket": (GREEN, "o", "-"),
}
TIME, MESSAGES, TARGET = "time (µs)", "messages on the wire", "the target's processor (µs per acquisition)"
NOTE = ("Soft RoCE devices of an emulated machine: times compare designs, not machines.\n"
        "Messages: requests and answers with data, without acknowledgements.")


def draw_dots(ax, table, figure, series, xlabel, log=True):
    """`series`: (name, colour, marker, QUANTITY/STEP)."""
    made = [(name, colour, marker, {design: table.point(f"fabric/{figure}/{row}/{design}") for design in DESIGNS})
            for name, colour, marker, row in series]
    shown = [design for design in DESIGNS if any(points[design] is not None for *_, points in made)]
    panels.dots(ax, shown, made, xlabel, log)
    if not log:
        ax.set_xlim(left=0)


def draw_lines(ax, table, figure, quantity, unit, xlabel, ylabel):
    prefix = f"fabric/{figure}/{quantity}/"
    xs = table.numbers(prefix, f"_{unit}/", "")
    panels.lines(ax, table, xs, lambda design, x: f"{prefix}{x}_{unit}/{design}", xlabel, ylabel, DESIGNS, DESIGNS)


def overhead(table):
    made, axes = panels.figure(1, 2, (11, 5), "Figure 1, overhead: a free lock of another node", NOTE)
    draw_dots(axes[0][0], table, "overhead", [("lock", BLUE, "o", "time/lock"), ("unlock", ORANGE, "^", "time/unlock"),
                                              ("both", BLACK, "D", "time/both")], TIME)
    draw_dots(axes[0][1], table, "overhead", [("", BLACK, "D", "messages/both")], MESSAGES, log=False)
    return panels.finish(made, [axes[0][0]])


def delay(table):
    made, axes = panels.figure(1, 2, (11, 5), "Figure 2, delay: from a release to the next origin's acquisition", NOTE)
    draw_dots(axes[0][0], table, "delay", [("", BLACK, "D", "time/hand_over")], TIME)
    draw_dots(axes[0][1], table, "delay", [("", BLACK, "D", "messages/hand_over")], MESSAGES, log=False)
    return panels.finish(made)


def over(figure, title, unit, xlabel, quantities):
    """A picture with one panel for each pair of quantity and label."""
    def draw(table):
        made, axes = panels.figure(1, len(quantities), (5.5 * len(quantities), 5.4), title, NOTE)
        for ax, (quantity, label) in zip(axes[0], quantities):
            draw_lines(ax, table, figure, quantity, unit, xlabel, label)
        return panels.finish(made, axes[0], 5 if len(quantities) > 1 else 3)
    return draw


def pairs(table):
    made, axes = panels.figure(1, 2, (11, 5), "Figure 6, one pair and two pairs of origin and target on two nodes", NOTE)
    for ax, quantity, label in [(axes[0][0], "time", TIME), (axes[0][1], "messages", MESSAGES)]:
        draw_dots(ax, table, "pairs", [(f"{n} to {n}", colour, marker, f"{quantity}/{n}_to_{n}")
                                       for n, colour, marker in [(1, SKY, "o"), (2, BLACK, "D")]], label, quantity == "time")
    return panels.finish(made, [axes[0][0]])


TIME_AND_TARGET = (("time", "lock + unlock (µs)"), ("target", TARGET))
CHARTS = {
    "overhead": overhead,
    "delay": delay,
    "concurrency": over("concurrency", "Figure 3, concurrency: as many locks as origins", "origins",
                        "origins, each with a lock of its own", TIME_AND_TARGET),
    "contended": over("contended", "Figure 4, messages: origins that compete for one lock", "origins", "origins",
                      (("messages", "messages on the wire per acquisition"), ("target", TARGET))),
    "computing": over("computing", "Figure 5, computing threads at the target", "threads", "computing threads", TIME_AND_TARGET),
    "pairs": pairs,
}


def charts(table, scenario):
    drawn = False
    for figure, draw in CHARTS.items():
        if any(name.startswith(f"fabric/{figure}/") for name in table.by_name):
            drawn = True
            yield "fabric_" + figure, draw(table)
    if not drawn:
        yield from ratios.charts(table, scenario)
