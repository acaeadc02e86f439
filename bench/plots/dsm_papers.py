"""What the TreadMarks paper shows: single operations, speed-ups by nodes and by size, and the split of the time.

SPDX-License-Identifier: Apache-2.0
"""

import panels

WAYS = {"sockets": ("sockets, sleeping server", panels.BLACK, "s"),
        "timer": ("user-level path, timer", panels.ORANGE, "^"),
        "user_level": ("user-level path", panels.BLUE, "o")}
PROGRAMS = ["sor", "jacobi", "tsp", "fft3d"]
PARTS = [("compute", panels.GREEN), ("lock", panels.ORANGE), ("barrier", panels.BLUE)]
BESIDE = [("idle", "_", panels.BLACK), ("server", "x", panels.RED)]
NOTE = "All nodes share the processors of one machine: beyond their number a speed-up cannot grow."


def sizes_of(table, program):
    names = [name.split("/") for name in table.by_name if name.startswith(f"wall/{program}/")]
    return sorted({int(words[2]) for words in names})


def nodes_of(table, program, size):
    return table.numbers(f"wall/{program}/{size}/", "_nodes/", "")


def operations_of(table):
    return [name.rsplit("/", 1)[0] for name in table.by_name
            if name.endswith("/sockets") and name.split("/")[0] in ("page", "diff", "lock", "barrier")]


def costs(table):
    labels = operations_of(table)
    made, axes = panels.figure(1, 1, (9, 5.4), "Operations of the shared heap by way of progress",
                               f"Lower is better. Medians of {table.runs_of(labels[0])}, with quartiles.")
    series = [(title, colour, marker, {label: table.point(f"{label}/{way}") for label in labels})
              for way, (title, colour, marker) in WAYS.items()]
    panels.dots(axes[0][0], labels, series, "time (µs)")
    return panels.finish(made, axes.flat, 3)


def speed_ups(table):
    made, axes = panels.figure(4, 3, (14, 16), "Speed-up over one process, by program and size", NOTE)
    for line, program in zip(axes, PROGRAMS):
        for ax, size in zip(line, sizes_of(table, program)):
            xs = nodes_of(table, program, size)
            for way, (title, colour, marker) in WAYS.items():
                found = [(x, table.point(f"speed_up/{program}/{size}/{x}_nodes/{way}")) for x in xs]
                found = [(x, p.value) for x, p in found if p is not None]
                ax.plot([x for x, _ in found], [y for _, y in found], color=colour, marker=marker, label=title)
            ax.axhline(1, color="#999999", linewidth=0.8, zorder=0)
            ax.set_title(f"{program} {size}")
            ax.set_xticks(xs)
            ax.set_xlabel("nodes")
            ax.set_ylabel("speed-up")
            ax.set_ylim(bottom=0)
            ax.grid(axis="y", color="#e6e6e6", linewidth=0.7)
    return panels.finish(made, axes.flat, 3)


def split(table, place, part):
    point = table.point(f"split/{place}/{part}")
    return 0 if point is None else point.value


def bars(ax, table, program, size, xs):
    """A bar of the parts for each number of nodes and way, as shares of the wall time, which is written above."""
    places, labels = [], []
    for group, nodes in enumerate(xs):
        for shift, way in enumerate(WAYS):
            place = f"{program}/{size}/{nodes}_nodes/{way}"
            whole = sum(split(table, place, part) for part, _ in PARTS)
            if whole == 0:
                continue
            at, bottom = group * (len(WAYS) + 1) + shift, 0
            places.append(at)
            labels.append(f"{nodes} {way}")
            for part, colour in PARTS:
                share = 100 * split(table, place, part) / whole
                ax.bar(at, share, bottom=bottom, color=colour, width=0.8, label=part)
                bottom += share
            for part, marker, colour in BESIDE:
                ax.plot(at, 100 * split(table, place, part) / whole, marker=marker, color=colour, linestyle="none",
                        markersize=9, label=part)
            ax.text(at, 102, f"{whole:,.0f}", ha="center", fontsize=8)
    ax.set_xticks(places, labels, rotation=60, ha="right", fontsize=8)
    ax.set_ylim(0, 112)
    ax.set_ylabel("% of the wall time")
    ax.set_title(f"{program} {size}")
    ax.grid(axis="y", color="#e6e6e6", linewidth=0.7)
    ax.set_axisbelow(True)


def splits(table):
    made, axes = panels.figure(4, 3, (16, 19), "What the time is made of, by nodes and way of progress",
                               "Above each bar: wall time, ms. compute: with the page faults. idle: of all this, the rank without a "
                               "processor. server: processor time of the node's server.\n" + NOTE)
    for line, program in zip(axes, PROGRAMS):
        for ax, size in zip(line, sizes_of(table, program)):
            bars(ax, table, program, size, nodes_of(table, program, size))
    return panels.finish(made, axes.flat, 5)


def charts(table, _scenario):
    if operations_of(table):
        yield "dsm_papers_costs", costs(table)
    if any(name.startswith("speed_up/") for name in table.by_name):
        yield "dsm_papers_speed_ups", speed_ups(table)
        yield "dsm_papers_splits", splits(table)
