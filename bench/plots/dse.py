"""The DSE paper's figures 5 to 14: time over the number of nodes, by test and length; and the messages.

SPDX-License-Identifier: Apache-2.0
"""

import panels

TESTS = [("access", "distant access", 5), ("broadcast", "broadcast", 8), ("all_to_all", "all-to-all", 11)]
LENGTHS = [4, 64, 1024]
PATHS = {"tcp": (panels.ORANGE, "^"), "posix": (panels.BLUE, "o"), "local": (panels.GREEN, "D")}
WAYS = {"": "-", "get": "-", "collective": "--"}
NOTE = "Lower is better. All nodes share the processors of one machine. Medians of {} rounds, with quartiles."


def ways_of(test):
    return [""] if test in ("access", "barrier") else ["get", "collective"]


def name(test, length, nodes, path, way):
    middle = f"{test}/{length}B" if length else test
    return f"{middle}/{nodes}_nodes/{path}" + (f"/{way}" if way else "")


def messages_name(test, nodes, way):
    return f"messages/{test}/{nodes}_nodes" + (f"/{way}" if way else "")


def nodes_of(table):
    return table.numbers("barrier/", "_nodes/", "tcp") or table.numbers("access/64B/", "_nodes/", "tcp")


def line(ax, points, colour, marker, style, label):
    points = [(x, p) for x, p in points if p is not None]
    if not points:
        return []
    ax.errorbar([x for x, _ in points], [p.value for _, p in points],
                yerr=[[max(p.value - p.low, 0) for _, p in points], [max(p.high - p.value, 0) for _, p in points]],
                color=colour, marker=marker, linestyle=style, markersize=5, capsize=2, linewidth=1.4, elinewidth=0.9,
                label=label)
    return [p.low for _, p in points] + [p.high for _, p in points]


def plain_line(ax, table, names, xs):
    """The plain server's time: the limit of the first of `names` that there is, by number of nodes."""
    found = [(x, row["limit"]) for x in xs for row in [table.by_name.get(names(x))] if row is not None]
    if not found:
        return []
    ax.plot([x for x, _ in found], [y for _, y in found], color=panels.BLACK, marker="s", markersize=5, linewidth=1.4,
            label="plain server, TCP sockets")
    return [y for _, y in found]


def times(ax, table, test, length, xs):
    way = ways_of(test)[0]
    seen = plain_line(ax, table, lambda x: name(test, length, x, "tcp", way), xs)
    for path, (colour, marker) in PATHS.items():
        for way in ways_of(test):
            label = f"ours, {path}" + (", collective" if way == "collective" else "")
            points = [(x, table.point(name(test, length, x, path, way))) for x in xs]
            seen += line(ax, points, colour, marker, WAYS[way], label)
    finish_axes(ax, xs, "time (µs)")
    panels.fit_log(ax, "y", seen)


def messages(ax, table, xs):
    seen = []
    for (test, _, _), colour in zip(TESTS + [("barrier", "", 0)],
                                    [panels.BLUE, panels.ORANGE, panels.GREEN, panels.RED]):
        for way in ways_of(test):
            points = [(x, table.point(messages_name(test, x, way))) for x in xs]
            seen += line(ax, points, colour, "o", WAYS[way], f"{test}{', collective' if way == 'collective' else ''}")
        names = [(x, messages_name(test, x, ways_of(test)[0])) for x in xs]
        limits = [(x, table.by_name[row_name]["limit"]) for x, row_name in names if row_name in table.by_name]
        seen += [y for _, y in limits]
        ax.plot([x for x, _ in limits], [y for _, y in limits], color=colour, marker="s", linestyle=":", markersize=9,
                fillstyle="none", label=f"{test}, plain server")
    finish_axes(ax, xs, "messages of an operation, all nodes")
    panels.fit_log(ax, "y", seen)


def finish_axes(ax, xs, ylabel):
    ax.set_xticks(xs)
    ax.set_xlabel("nodes")
    ax.set_ylabel(ylabel)
    ax.grid(axis="y", which="both", color="#e6e6e6", linewidth=0.7)
    ax.set_axisbelow(True)


def charts(table, _scenario):
    xs = nodes_of(table)
    if not xs:
        return
    made, axes = panels.figure(4, 3, (16, 19), "Shared data between nodes: the DSE paper's figures 5 to 14",
                               NOTE.format(table.runs_of("access/")))
    for lines, (test, title, figure) in zip(axes, TESTS):
        for ax, length, number in zip(lines, LENGTHS, range(figure, figure + 3)):
            times(ax, table, test, length, xs)
            ax.set_title(f"figure {number}: {title}, {length:,} bytes")
        panels.common_limits(lines, "y")
    times(axes[3][0], table, "barrier", 0, xs)
    axes[3][0].set_title("figure 14: barrier")
    messages(axes[3][1], table, xs)
    axes[3][1].set_title("messages, answers counted")
    axes[3][2].legend(*axes[3][1].get_legend_handles_labels(), title="messages", frameon=False, loc="center left")
    axes[3][2].set_axis_off()
    yield "dse", panels.finish(made, list(axes[:3].flat) + [axes[3][0]], 4)
