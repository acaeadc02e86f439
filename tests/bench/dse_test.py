#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`grapnel-bench dse` in a short form, on three nodes: every row is there, the messages are as few as promised."""

import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "harness"))
import pictures  # noqa: E402
import skips  # noqa: E402

PROGRAM = pathlib.Path(sys.argv.pop(1))
NODES = 3
PATHS = ["tcp", "posix", "local"]
WAYS = {"access": [""], "broadcast": ["/get", "/collective"], "all_to_all": ["/get", "/collective"]}


def expected_rows():
    for path in PATHS:
        for length in [4, 64, 1024]:
            for test, ways in WAYS.items():
                for way in ways:
                    yield f"{test}/{length}B/{NODES}_nodes/{path}{way}"
        yield f"barrier/{NODES}_nodes/{path}"
    for test, ways in WAYS.items():
        for way in ways:
            yield f"messages/{test}/{NODES}_nodes{way}"
    yield f"messages/barrier/{NODES}_nodes"


# Answers counted. The plain server answers each request; its barrier is a request to node 0 and an answer.
PLAIN = {"access": 2, "broadcast": 2 * (NODES - 1), "all_to_all": 2 * NODES * (NODES - 1), "barrier": 2 * (NODES - 1)}
OURS = {"access": 2, "broadcast/get": 2 * (NODES - 1), "broadcast/collective": NODES - 1,
        "all_to_all/get": 2 * NODES * (NODES - 1), "all_to_all/collective": NODES * 2}


class DseTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="grapnel-dse-test-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.json = pathlib.Path(cls.folder.name) / "dse.json"
        cls.answer = subprocess.run(
            [PROGRAM, "dse", "--quick", "--runs", "1", "--filter", f"/{NODES}_nodes", "--check", "--json", cls.json],
            capture_output=True, text=True, check=False)
        cls.rows = {row["name"]: row for row in json.loads(cls.json.read_text())["rows"]} if cls.json.exists() else {}

    def test_every_row_is_there(self):
        self.assertEqual(self.answer.returncode, 0, self.answer.stdout + self.answer.stderr)
        self.assertEqual(sorted(self.rows), sorted(expected_rows()))
        for row in self.rows.values():
            self.assertTrue(math.isfinite(row["value"]) and row["value"] > 0, row)
            self.assertGreater(row["limit"], 0, row)

    def test_messages_are_exact(self):
        for test, plain in PLAIN.items():
            for name, row in self.rows.items():
                if name.startswith(f"messages/{test}/"):
                    self.assertEqual(row["limit"], plain, row)
        for what, ours in OURS.items():
            test, _, way = what.partition("/")
            name = f"messages/{test}/{NODES}_nodes" + (f"/{way}" if way else "")
            if what == "broadcast/collective":  # after 64 in a row the nodes meet, by a dissemination: at most twice in 100
                self.assertAlmostEqual(self.rows[name]["value"], ours, delta=2 * NODES * 2 / 100, msg=name)
            else:
                self.assertEqual(self.rows[name]["value"], ours, name)

    def test_pictures(self):
        made = pictures.draw(self, self.json, pathlib.Path(self.folder.name) / "pictures")
        self.assertEqual(made, ["dse.png"])


if __name__ == "__main__":
    skips.main(sys.argv[1:])
