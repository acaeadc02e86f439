"""Any scenario whose rows have a limit: each row's ratio beside its bar.

SPDX-License-Identifier: Apache-2.0
"""

import panels

TITLE = "{}: ours / limit"
NOTE = "Filled: within its bar, the tick. Hollow: short of it, disturbed, or not judged. Without a place: 0, infinite."


def draw(ax, rows):
    for place, row in enumerate(rows):
        colour = panels.BLUE if row["better"] == "lower" else panels.ORANGE
        ax.plot(row["ratio"], place, marker="o", color=colour, linestyle="none",
                fillstyle="full" if row["pass"] else "none")
        if row["bar"] is not None:
            ax.plot(row["bar"], place, marker="|", color=panels.BLACK, markersize=11, linestyle="none")
    ax.set_yticks(range(len(rows)), [row["name"] for row in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.axvline(1, color="#999999", linewidth=0.8, zorder=0)
    ax.set_xlabel("value / limit (blue: less is better; orange: more is better)")
    panels.fit_log(ax, "x", [row["ratio"] for row in rows] + [row["bar"] or 1 for row in rows])
    ax.grid(axis="both", which="both", color="#e6e6e6", linewidth=0.7)
    ax.set_axisbelow(True)


def charts(table, scenario):
    rows = [row for row in table.rows if row["ratio"]]
    if not rows:
        return
    made, axes = panels.figure(1, 1, (11, 1.8 + 0.26 * len(rows)), TITLE.format(scenario), NOTE)
    draw(axes[0][0], rows)
    yield scenario, panels.finish(made)
