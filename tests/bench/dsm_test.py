#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`grapnel-bench dsm` in a short form, by the trap that every machine has: each row is there and sound, what the heap sends is
as little as promised, and it can be drawn."""

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
EXACT = ["miss/signals", "miss/messages", "sequence/fetches", "sequence/home_questions", "first_write/signals",
         "release/messages", "release/3_homes/messages", "release/3_homes/acknowledgements", "barrier/messages",
         "hand_off/messages", "home_alone/signals", "home_alone/diffs", "home_alone/intervals", "jacobi/diffs",
         "jacobi/requests", "sor/diffs", "sor/requests"]
NEVER_ZERO = ["miss/signals", "miss/messages", "sequence/fetches", "sequence/home_questions", "first_write/signals",
              "hand_off/messages", "barrier/messages"]
TIMES = ["barrier", "hand_off", "miss", "first_miss", "sequence", "first_sequence", "busy_home",
         "release/1_of_512_words", "release/51_of_512_words", "release/512_of_512_words"]
PROGRAMS = [f"{nodes}_nodes/mprotect/{limit}" for nodes in (2, 4) for limit in ("against_by_hand", "against_sequential")]


class DsmTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="grapnel-dsm-test-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.json = pathlib.Path(cls.folder.name) / "dsm.json"
        answer = subprocess.run([PROGRAM, "dsm", "--quick", "--runs", "1", "--filter", "mprotect/", "--json", cls.json],
                                capture_output=True, text=True, check=False)
        if answer.returncode != 0:
            raise AssertionError(answer.stdout + answer.stderr)
        cls.rows = {row["name"]: row for row in json.loads(cls.json.read_text())["rows"]}

    def test_every_row_is_there(self):
        expected = [f"counts/mprotect/{name}" for name in EXACT]
        expected += [f"ratios/mprotect/{name}" for name in TIMES] + [f"programs/jacobi/{name}" for name in PROGRAMS]
        self.assertEqual(sorted(self.rows), sorted(expected))
        for name, row in self.rows.items():
            self.assertEqual(row["scenario"], "dsm")
            self.assertTrue(math.isfinite(row["value"]), row)
            if not name.startswith("counts/"):
                self.assertGreater(row["value"], 0, row)
                self.assertGreater(row["limit"], 0, row)

    def test_counts_keep_their_bars(self):
        for name in EXACT:
            self.assertTrue(self.rows[f"counts/mprotect/{name}"]["pass"], self.rows[f"counts/mprotect/{name}"])
        for name in NEVER_ZERO:
            self.assertGreater(self.rows[f"counts/mprotect/{name}"]["value"], 0, name)

    def test_pictures(self):
        made = pictures.draw(self, self.json, pathlib.Path(self.folder.name) / "pictures")
        self.assertEqual(made, ["dsm.png"])


if __name__ == "__main__":
    skips.main(sys.argv[1:])
