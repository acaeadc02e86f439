# SPDX-License-Identifier: Apache-2.0
"""Rows, held against the bars of bars.toml as docs/bench.md has it, and written as grapnel-bench writes them (schema 1)."""

import dataclasses
import fnmatch
import json
import tomllib

HEADING = f"{'row':<58} {'value':>10} {'limit':>10} {'ratio':>8}  {'bar':<16} {'':<5}  unit, runs"


@dataclasses.dataclass
class Row:
    name: str
    value: float
    unit: str
    limit: float | None = None  # measured beside the value, or given
    better: str = "lower"
    runs: int = 1
    note: str = ""
    low: float | None = None  # quartiles of the runs
    high: float | None = None
    bar: float | None = None  # of the ratio
    bar_text: str = "none"
    passes: bool | None = None  # None: shown, not judged

    @property
    def ratio(self):
        return None if self.limit is None else self.value / self.limit


def read_bars(file):
    with open(file, "rb") as text:
        return tomllib.load(text).get("windows", {})


def judge(row, bars):
    """A row without a bar does not pass."""
    found = [bar for pattern, bar in bars.items() if fnmatch.fnmatchcase(row.name, pattern)]
    if len(found) > 1:
        raise ValueError(f"several bars claim {row.name}")
    if not found:
        row.passes = False
    elif found[0] is not False:
        (kind, bound), = found[0].items()
        if kind == "value_max":
            row.limit, row.bar, row.bar_text = float(bound), 1.0, f"≤ {bound} {row.unit}"
        else:
            row.bar, row.bar_text = float(bound), f"ratio {'≤' if kind == 'ratio_max' else '≥'} {bound}"
        if (kind == "ratio_min") != (row.better == "higher") or row.limit is None:
            raise ValueError(f"{row.name}: the bar {kind} does not fit the row")
        row.passes = row.ratio >= row.bar if kind == "ratio_min" else row.ratio <= row.bar
    else:
        row.bar_text = "-"
    return row


def line(row):
    verdict = {None: "", True: "ok", False: "SHORT"}[row.passes]
    limit, ratio = ("", "") if row.limit is None else (f"{row.limit:.4g}", f"{row.ratio:.3f}")
    note = f"; {row.note}" if row.note else ""
    return f"{row.name:<58} {row.value:>10.4g} {limit:>10} {ratio:>8}  {row.bar_text:<16} {verdict:<5}  {row.unit}, {row.runs}{note}"


def write(file, rows, skipped):
    content = [{"scenario": "windows", "name": row.name, "value": row.value, "unit": row.unit, "better": row.better,
                "limit": row.limit, "ratio": row.ratio, "bar": row.bar, "pass": row.passes, "runs": row.runs,
                "p99": None, "disturbed": False, "note": row.note, "low": row.low, "high": row.high} for row in rows]
    with open(file, "w", encoding="utf-8") as out:
        json.dump({"schema": 1, "rows": content,
                   "skipped": [{"name": name, "why": why} for name, why in skipped.items()]}, out, indent=1)
