#!/usr/bin/env python3
"""Draws pages over eras from a report of the shared heap (GRAPNEL_DSM_REPORT, docs/dsm_report.md).

usage: heat.py FILE.json --out PICTURE.png

Left: how often a page was fetched or sent as a diff; right: how many nodes wrote it. A row is a page that a node fetched
or wrote, in the order of addresses; a line and a name at the left begin a block of the heap. Where there are more pages
or eras than the picture has room for, several share a row or a column: the sum on the left, the most on the right.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import json
import pathlib
import sys

import panels
from matplotlib.colors import BoundaryNorm, ListedColormap, LogNorm

MOST = 400  # rows, and columns
MOST_NAMES = 25


class Report:
    """ValueError, KeyError for a file that is no report."""

    def __init__(self, path):
        text = path.read_text(encoding="utf-8")
        if not text:
            raise ValueError(f"{path} is empty: the job that was to write it has not ended, or ended badly")
        content = json.loads(text)
        if not isinstance(content, dict) or content.get("format") != "grapnel shared heap report" or content["version"] != 1:
            raise ValueError(f"{path} is no report of GRAPNEL_DSM_REPORT (version 1)")
        self.content = content
        self.pages = content["pages"]
        self.slices = max(content["eras"] - 1, 0) // content["eras_per_slice"] + 1

    def block_of(self, page):
        """The index of the block in which the page begins, or which begins in it first; None where none does."""
        begin = page * self.content["page_bytes"]
        end = begin + self.content["page_bytes"]
        found = None
        for index, block in enumerate(self.content["blocks"]):
            if block["offset"] < end and block["offset"] + block["bytes"] > begin:
                found = index if found is None or block["offset"] <= begin else found
        return found

    def name_of(self, index):
        if index is None:
            return "(no block)"
        block = self.content["blocks"][index]
        return block["name"] or block["allocated_in"] or f"+{block['offset']:,}"

    def matrices(self):
        """Transfers and writers, by row and column."""
        rows, columns = min(len(self.pages), MOST), min(self.slices, MOST)
        transfers = [[0] * columns for _ in range(rows)]
        writers = [[0] * columns for _ in range(rows)]
        for place, page in enumerate(self.pages):
            row = place * rows // len(self.pages)
            nodes = {}
            for use in page["uses"]:
                column = use["era"] // self.content["eras_per_slice"] * columns // self.slices
                transfers[row][column] += use["fetches"] + use["diffs"]
                if use["writes"]:
                    nodes.setdefault(column, set()).add(use["node"])
            for column, some in nodes.items():
                writers[row][column] = max(writers[row][column], len(some))
        return transfers, writers

    def block_rows(self):
        """Where blocks begin: (row, name)."""
        rows, last, marks = min(len(self.pages), MOST), -1, []
        for place, page in enumerate(self.pages):
            block = self.block_of(page["page"])
            if block != last:
                marks.append((place * rows // len(self.pages), self.name_of(block)))
            last = block
        return marks


def draw(report):
    transfers, writers = report.matrices()
    most = max(max(row) for row in transfers)
    nodes = report.content["nodes"]
    height = min(max(3.2, 1.6 + 0.06 * len(transfers)), 10)
    findings = report.content["findings"]
    note = findings[0]["sentence"] if findings else "No page was fetched from another node."
    if len(note) > 150:
        note = note[:149] + "…"
    made, axes = panels.figure(1, 2, (12, height), "Shared heap: pages over eras", note)
    extent = (0, report.content["eras"], len(transfers), 0)
    left, right = axes[0]
    shown = left.imshow([[value or float("nan") for value in row] for row in transfers], aspect="auto", extent=extent,
                        interpolation="nearest", cmap="viridis_r", norm=LogNorm(1, max(most, 2)))
    left.set_title("fetches and diffs")
    scale = made.colorbar(shown, ax=left).ax.yaxis
    panels.plain_log(scale)
    if most < 300:
        panels.write_minor_ticks(scale)
    colours = ["#ffffff", panels.SKY] + [panels.ORANGE, panels.RED, panels.BLACK][:max(min(nodes - 1, 3), 1)]
    shown = right.imshow(writers, aspect="auto", extent=extent, interpolation="nearest", cmap=ListedColormap(colours),
                         norm=BoundaryNorm([i - 0.5 for i in range(len(colours) + 1)], len(colours), extend="neither"))
    right.set_title("nodes that wrote it")
    bar = made.colorbar(shown, ax=right, ticks=range(len(colours)))
    bar.ax.set_yticklabels([str(i) for i in range(len(colours) - 1)] + [f"{len(colours) - 1} or more"])
    marks = report.block_rows()
    for ax in (left, right):
        ax.set_xlabel("era (time between two barriers)")
        ax.set_yticks([])
        for row, _ in marks:
            ax.axhline(row, color="#999999", linewidth=0.6)
    left.set_yticks([row for row, _ in marks[:MOST_NAMES]], [name for _, name in marks[:MOST_NAMES]], fontsize=8)
    left.set_ylabel(f"{len(report.pages)} pages, by block")
    return panels.finish(made)


def main():
    parser = argparse.ArgumentParser(description="Draws pages over eras from a report of the shared heap.")
    parser.add_argument("file", type=pathlib.Path, metavar="FILE.json")
    parser.add_argument("--out", required=True, type=pathlib.Path, metavar="PICTURE.png")
    options = parser.parse_args()
    try:
        report = Report(options.file)
        if not report.pages:
            raise ValueError(f"{options.file} has no page that a node fetched or wrote: a job of one node?")
        figure = draw(report)
    except (OSError, ValueError, KeyError) as error:
        print(f"heat.py: {error}", file=sys.stderr)
        return 1
    options.out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(options.out, dpi=110)
    print(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
