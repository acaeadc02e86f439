"""The rows of grapnel-bench's JSON, schema 1.

SPDX-License-Identifier: Apache-2.0
"""

import dataclasses
import json
import re


@dataclasses.dataclass(frozen=True)
class Point:
    """A median and the quartiles around it, as far as the row has them."""

    value: float
    low: float
    high: float
    runs: int


class Table:
    def __init__(self, rows):
        self.rows = rows
        self.by_name = {row["name"]: row for row in rows}

    @staticmethod
    def read(paths):
        """ValueError for a file that is not of schema 1."""
        rows = []
        for path in paths:
            with open(path, encoding="utf-8") as file:
                content = json.load(file)
            if not isinstance(content, dict) or content.get("schema") != 1:
                raise ValueError(f"{path} is not what grapnel-bench writes with --json (schema 1)")
            rows += content["rows"]
        return Table(rows)

    def scenarios(self):
        return list(dict.fromkeys(row["scenario"] for row in self.rows))

    def of(self, scenario):
        return Table([row for row in self.rows if row["scenario"] == scenario])

    def point(self, name):
        """None where there is no such row, or it has no value."""
        row = self.by_name.get(name)
        if row is None or row["value"] is None:
            return None
        low, high = row.get("low"), row.get("high")
        value = row["value"]
        return Point(value, value if low is None else low, value if high is None else high, row["runs"])

    def numbers(self, prefix, middle, ending):
        """The numbers N of the names prefix N middle … ending, in order."""
        pattern = re.compile(f"{re.escape(prefix)}([0-9]+){re.escape(middle)}.*{re.escape(ending)}$")
        found = [pattern.match(name) for name in self.by_name]
        return sorted({int(match.group(1)) for match in found if match})

    def runs_of(self, prefix):
        """"7", or "3 to 7": of the rows whose name begins so."""
        runs = [row["runs"] for row in self.rows if row["name"].startswith(prefix)]
        if not runs:
            return "0"
        return str(max(runs)) if min(runs) == max(runs) else f"{min(runs)} to {max(runs)}"
