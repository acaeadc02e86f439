"""What the charts are made of: dots with quartiles by kind, and lines over a number of something.

Colours are those of Okabe and Ito, which can be told apart without red or green; each kind also has a marker of its own.
SPDX-License-Identifier: Apache-2.0
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as pyplot  # noqa: E402
import matplotlib.ticker as ticker  # noqa: E402

BLACK, ORANGE, SKY, GREEN, BLUE, RED, PURPLE = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7")

# Kinds that differ by one step share a colour; the second is dashed.
KINDS = {
    "server_queue": (BLACK, "s", "-"),
    "ticket": (ORANGE, "^", "-"),
    "armci_hybrid": (SKY, "v", "-"),
    "test_and_set": (PURPLE, "X", "-"),
    "mcs": (BLUE, "o", "-"),
    "mcs_by_cas": (BLUE, "P", "--"),
    "cohort": (RED, "D", "-"),
    "reader_writer": (GREEN, "*", "-"),
    "reader_writer_shared": (GREEN, "h", "--"),
}

pyplot.rcParams.update({"font.size": 10, "axes.titlesize": 11, "axes.spines.top": False, "axes.spines.right": False})


def figure(rows, columns, size, title, note):
    """A grid of panels, always two-dimensional, with a title above and a note below."""
    made, axes = pyplot.subplots(rows, columns, figsize=size, squeeze=False)
    made.text(0.5, 1 - 0.12 / size[1], title, ha="center", va="top", fontsize=13, fontweight="bold")
    made.text(0.5, 0.08 / size[1], note, ha="center", va="bottom", fontsize=9, color="#444444")
    return made, axes


def legend_under(ax):
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -48 / (ax.bbox.height or 1)), ncol=3, frameon=False, fontsize=9,
              columnspacing=1.2)


def finish(made, legend_of=(), columns=5):
    """Lays the panels out; one legend above them, of whatever the panels `legend_of` show."""
    entries = {}
    for ax in legend_of:
        for handle, label in zip(*ax.get_legend_handles_labels()):
            entries.setdefault(label, handle)
    height = made.get_size_inches()[1]
    lines = -(-len(entries) // columns)
    if entries:
        made.legend(entries.values(), entries.keys(), loc="upper center", bbox_to_anchor=(0.5, 1 - 0.36 / height),
                    ncol=columns, frameon=False)
    made.tight_layout(rect=(0, 0.28 / height, 1, 1 - (0.45 + 0.24 * lines) / height))
    return made


def plain_log(axis):
    """A logarithmic axis whose ticks are written out: 0.5, 20, 3,000."""
    axis.set_major_locator(ticker.LogLocator(base=10, subs=(1.0,)))
    axis.set_major_formatter(ticker.FuncFormatter(lambda x, _: f"{x:,.12g}"))
    axis.set_minor_locator(ticker.LogLocator(base=10, subs=(2.0, 5.0)))
    axis.set_minor_formatter(ticker.NullFormatter())


def write_minor_ticks(axis):
    """For ranges of one or two decades, where the powers of ten alone say little."""
    axis.set_minor_formatter(ticker.FuncFormatter(lambda x, _: f"{x:,.12g}"))
    axis.set_tick_params(which="minor", labelsize=8)


def fit_log(ax, which, values):
    values = [value for value in values if value > 0]
    if not values:
        return
    axis = ax.xaxis if which == "x" else ax.yaxis
    low, high = min(values) / 1.5, max(values) * 1.5
    (ax.set_xscale if which == "x" else ax.set_yscale)("log")
    (ax.set_xlim if which == "x" else ax.set_ylim)(low, high)
    plain_log(axis)
    if high / low < 300:
        write_minor_ticks(axis)


def dots(ax, labels, series, xlabel, log=True):
    """`series`: (name, colour, marker, points by label). A horizontal line for each label, one dot per series in it."""
    step = 0.7 / max(len(series), 1)
    seen = []
    for number, (name, colour, marker, points) in enumerate(series):
        shift = (number - (len(series) - 1) / 2) * step
        places = [(label, place + shift) for place, label in enumerate(labels) if points.get(label) is not None]
        values = [points[label] for label, _ in places]
        if not values:
            continue
        seen += [p.low for p in values] + [p.high for p in values]
        ax.errorbar([p.value for p in values], [y for _, y in places],
                    xerr=[[max(p.value - p.low, 0) for p in values], [max(p.high - p.value, 0) for p in values]],
                    fmt=marker, color=colour, markersize=6, capsize=2.5, elinewidth=1.2, label=name)
    for place in range(1, len(labels)):
        ax.axhline(place - 0.5, color="#dddddd", linewidth=0.8, zorder=0)
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_xlabel(xlabel)
    if log:
        fit_log(ax, "x", seen)
    ax.grid(axis="x", which="both", color="#e6e6e6", linewidth=0.7)
    ax.set_axisbelow(True)


def lines(ax, table, xs, name_of, xlabel, ylabel, kinds=KINDS, styles=KINDS):
    """One line per kind: `name_of(kind, x)` is the row's name."""
    seen = []
    for kind in kinds:
        colour, marker, style = styles[kind]
        points = [(x, table.point(name_of(kind, x))) for x in xs]
        points = [(x, p) for x, p in points if p is not None and p.value > 0]
        if not points:
            continue
        seen += [p.low for _, p in points] + [p.high for _, p in points]
        ax.errorbar([x for x, _ in points], [p.value for _, p in points],
                    yerr=[[max(p.value - p.low, 0) for _, p in points], [max(p.high - p.value, 0) for _, p in points]],
                    color=colour, marker=marker, linestyle=style, markersize=6, capsize=2, linewidth=1.4,
                    elinewidth=0.9, label=kind)
    ax.set_xticks(xs)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    fit_log(ax, "y", seen)
    ax.grid(axis="y", which="both", color="#e6e6e6", linewidth=0.7)
    ax.set_axisbelow(True)


def common_limits(axes, which):
    """The same scale for panels that are to be compared."""
    get, put = ("get_xlim", "set_xlim") if which == "x" else ("get_ylim", "set_ylim")
    used = [ax for ax in axes if ax.has_data()]
    if not used:
        return
    low, high = min(getattr(ax, get)()[0] for ax in used), max(getattr(ax, get)()[1] for ax in used)
    for ax in used:
        getattr(ax, put)(low, high)
        if high / max(low, 1e-12) >= 300:
            (ax.xaxis if which == "x" else ax.yaxis).set_minor_formatter(ticker.NullFormatter())
