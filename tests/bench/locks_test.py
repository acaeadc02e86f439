#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`grapnel-bench locks` in a short form: every row of one kind is there, sound, and can be drawn."""

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
KIND = "cohort"
MODES = ["poll", "event", "adaptive"]


def expected_rows():
    for part in ["acquire", "release", "both"]:
        yield f"overhead/one_node/{KIND}/{part}"
        for mode in MODES:
            yield f"overhead/remote/{KIND}/{mode}/{part}"
            yield f"overhead/home/{KIND}/{mode}/{part}"
    for what in ["free_acquire", "free_release", "hand_off"]:
        yield f"messages/{what}/{KIND}"
    yield f"delay/one_node/{KIND}"
    yield f"sim/delay/{KIND}/5ms_delay"
    for mode in MODES:
        yield f"nonblocking/remote/{KIND}/{mode}/start"
        yield f"nonblocking/remote/{KIND}/{mode}/wait_after_200us"
        yield f"delay/nodes/{KIND}/{mode}"
        yield f"cpu/target_time/{KIND}/{mode}"
        for threads in [0, 1, 2, 4]:
            yield f"cpu/iteration/{threads}_threads/{KIND}/{mode}"
        for threads in [1, 2, 4]:
            yield f"cpu/loss/{threads}_threads/{KIND}/{mode}"
        for pairs in [1, 2]:
            yield f"cpu/assignment/{pairs}_to_{pairs}/{KIND}/{mode}"
    for locks in ["one_lock", "many_locks"]:
        for origins in [1, 2, 4]:
            yield f"concurrency/one_node/{locks}/{origins}_origins/{KIND}"
        for mode in MODES:
            for origins in [1, 2] if mode == "poll" else [1, 2, 4, 7]:
                yield f"concurrency/nodes/{locks}/{origins}_origins/{KIND}/{mode}"
                if locks == "one_lock":
                    yield f"messages/contended/{origins}_origins/{KIND}/{mode}"


class MistakesTest(unittest.TestCase):
    def test_they_are_refused_before_anything_is_measured(self):
        for words, said in [(["locks", "--json", "/nonexistent/rows.json"], "--json /nonexistent/rows.json: No such"),
                            (["locks", "--speed"], "--speed"), (["speed"], "subcommand"), ([], "subcommand")]:
            answer = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False, timeout=5)
            self.assertEqual(answer.returncode, 2, words)
            self.assertIn(said, answer.stderr)
            self.assertEqual(answer.stdout, "")


class LocksTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="grapnel-locks-test-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.json = pathlib.Path(cls.folder.name) / "locks.json"
        cls.answer = subprocess.run(
            [PROGRAM, "locks", "--quick", "--runs", "1", "--filter", f"/{KIND}", "--check", "--json", cls.json],
            capture_output=True, text=True, check=False)

    def test_every_row_is_there_and_the_messages_are_as_few_as_promised(self):
        self.assertEqual(self.answer.returncode, 0, self.answer.stdout + self.answer.stderr)
        content = json.loads(self.json.read_text())
        self.assertEqual(content["schema"], 1)
        self.assertEqual(sorted(row["name"] for row in content["rows"]), sorted(expected_rows()))
        for row in content["rows"]:
            self.assertEqual(row["scenario"], "locks")
            self.assertTrue(math.isfinite(row["value"]), row)
            self.assertLessEqual(row["low"], row["value"], row)
            self.assertLessEqual(row["value"], row["high"], row)
            self.assertEqual(row["runs"], 3 if row["name"].startswith("sim/") else 1, row)
            if not row["name"].startswith("cpu/loss"):  # may be nothing, within the error
                self.assertGreater(row["value"], 0, row)

    def test_pictures(self):
        made = pictures.draw(self, self.json, pathlib.Path(self.folder.name) / "pictures")
        self.assertEqual(made, [f"locks_{name}.png" for name in
                                ["assignment", "computing", "concurrency", "delay", "messages", "nonblocking",
                                 "overhead"]])


if __name__ == "__main__":
    skips.main(sys.argv[1:])
