#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the table of src/README.md as docs/layers.svg: one row per layer in the order of dependency, and what it includes.

usage: draw_layers.py [--check]     --check: fails where the picture differs from the table
"""
import re
import sys
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "src" / "README.md"
PICTURE = ROOT / "docs" / "layers.svg"
LEFT, TOP, BOX, HEIGHT, GAP, CELL = 16, 20, 560, 30, 8, 26
USERS = ("tools", "bench", "apps", "examples")


def read_layers():
    """(name, what it is, layers that it may include), lowest first."""
    rows = re.findall(r"^\| (\w+) \| (.*?) \| (.*?) ?\|$", TABLE.read_text(encoding="utf-8"), re.MULTILINE)
    return [(name, text, may.split()) for name, text, may in rows if name not in ("layer",) + USERS]


def shortened(text, most=58):
    """As many words as fit, cut at a comma or semicolon where that is possible."""
    text = text.replace("`", "")
    if len(text) <= most:
        return text
    cut = text[:most]
    for mark in (";", ":", ","):
        if mark in cut:
            return cut[:cut.rindex(mark)]
    return cut[:cut.rindex(" ")]


def draw(layers):
    count = len(layers)
    width = LEFT + BOX + 24 + CELL * count + LEFT
    height = TOP + count * (HEIGHT + GAP) + 52
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           f'viewBox="0 0 {width} {height}" font-family="DejaVu Sans, sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="white"/>']
    column = {name: LEFT + BOX + 24 + CELL * number + CELL // 2 for number, (name, _, _) in enumerate(layers)}
    row = {name: TOP + (count - 1 - number) * (HEIGHT + GAP) for number, (name, _, _) in enumerate(layers)}
    for name, text, may in layers:
        y = row[name]
        middle = y + HEIGHT // 2
        out.append(f'<rect x="{LEFT}" y="{y}" width="{BOX}" height="{HEIGHT}" rx="4" fill="#e8eef7" stroke="#4a6a9a"/>')
        out.append(f'<text x="{LEFT + 10}" y="{middle + 4}" font-weight="bold">{escape(name)}</text>')
        out.append(f'<text x="{LEFT + 100}" y="{middle + 4}">{escape(shortened(text))}</text>')
        # The layer's own column: a line from its row down to the rows that it includes, a dot at each.
        if may:
            lowest = max(row[other] for other in may) + HEIGHT // 2
            out.append(f'<line x1="{column[name]}" y1="{middle}" x2="{column[name]}" y2="{lowest}" stroke="#4a6a9a"/>')
            out.append(f'<line x1="{LEFT + BOX}" y1="{middle}" x2="{column[name]}" y2="{middle}" stroke="#c5d0e0"/>')
        for other in may:
            at = row[other] + HEIGHT // 2
            out.append(f'<circle cx="{column[name]}" cy="{at}" r="4" fill="#4a6a9a"/>')
    for name, x in column.items():
        y = TOP + count * (HEIGHT + GAP)
        out.append(f'<text x="{x}" y="{y}" text-anchor="end" font-size="10" '
                   f'transform="rotate(-60 {x} {y})">{escape(name)}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


def main():
    picture = draw(read_layers())
    if "--check" in sys.argv[1:]:
        if not PICTURE.exists() or PICTURE.read_text(encoding="utf-8") != picture:
            sys.exit("docs/layers.svg differs from src/README.md: run tools/draw_layers.py")
        print("layers.svg: as in the table")
    else:
        PICTURE.write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
