#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`grapnel-bench dsm --papers` in a short form: operations on two nodes, and one size of one program."""

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
WAYS = ["sockets", "timer", "user_level"]
OPERATIONS = {"page/2_nodes": ["page"], "diff/": ["diff/1_word", "diff/512_words"], "lock/2_nodes": ["lock"],
              "barrier/2_nodes": ["barrier"]}


class PapersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="grapnel-papers-test-")
        cls.addClassCleanup(cls.folder.cleanup)

    def measure(self, text):
        path = pathlib.Path(self.folder.name) / (text.strip("/").replace("/", "_") + ".json")
        answer = subprocess.run([PROGRAM, "dsm", "--papers", "--quick", "--filter", text, "--check", "--json", path],
                                capture_output=True, text=True, check=False)
        self.assertEqual(answer.returncode, 0, answer.stdout + answer.stderr)
        rows = json.loads(path.read_text())["rows"]
        for row in rows:
            self.assertTrue(math.isfinite(row["value"]), row)
        return path, {row["name"]: row for row in rows}

    def draw(self, path):
        return pictures.draw(self, path, path.with_suffix(""))

    def test_operations(self):
        all_rows = {}
        for text, expected in OPERATIONS.items():
            path, rows = self.measure(text)
            self.assertEqual(sorted(rows), sorted(f"{what}/2_nodes/{way}" for what in expected for way in WAYS))
            all_rows.update(rows)
        # Nothing is answered before the server looks, once in a millisecond.
        self.assertGreater(all_rows["lock/2_nodes/timer"]["value"], 300)
        self.assertLess(all_rows["lock/2_nodes/user_level"]["value"], all_rows["lock/2_nodes/timer"]["value"])
        self.assertEqual(self.draw(path), ["dsm_papers_costs.png"])

    def test_a_program(self):
        path, rows = self.measure("jacobi/512/2_nodes/")
        for way in WAYS:
            place = f"jacobi/512/2_nodes/{way}"
            for name in [f"wall/{place}", f"speed_up/{place}", f"split/{place}/compute", f"split/{place}/barrier"]:
                self.assertIn(name, rows)
            parts = sum(rows[f"split/{place}/{part}"]["value"] for part in ("compute", "lock", "barrier"))
            self.assertIn(f"split/{place}/idle", rows)
            self.assertIn(f"split/{place}/server", rows)
            self.assertAlmostEqual(parts, rows[f"wall/{place}"]["value"], delta=0.02 * parts + 0.1)
        # 40 iterations, each a barrier and at most two requests for the neighbour's edge.
        self.assertLessEqual(rows["messages/jacobi/512/2_nodes/pages"]["value"], 2 * 40 + 10)
        self.assertGreater(rows["messages/jacobi/512/2_nodes/barriers"]["value"], 2 * 40)
        self.assertEqual(self.draw(path), ["dsm_papers_speed_ups.png", "dsm_papers_splits.png"])


if __name__ == "__main__":
    skips.main(sys.argv[1:])
