# SPDX-License-Identifier: Apache-2.0
"""`./dev bench windows` in a short form: its rows are there and sound, messages are exact, and mistakes are refused.

usage: windows_test.py PROGRAMS MPI=LIBRARY
"""

import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench/windows"), str(ROOT / "tests/harness")]
import window_jobs  # noqa: E402
import judging  # noqa: E402
import measures  # noqa: E402
import paper  # noqa: E402
import skips  # noqa: E402

PROGRAMS, LIBRARY = sys.argv[1:3]
del sys.argv[1:3]
MPI = LIBRARY.partition("=")[0]
MESSAGES = {"lock_put_unlock": 5, "put_flush": 2, "get_flush": 2, "fetch_and_op_flush": 2,
            "lock_all_put_flush_unlock_all": 2}


def bench(*words):
    return subprocess.run([sys.executable, "-B", ROOT / "bench/windows/windows.py", "--programs", PROGRAMS, "--library",
                           LIBRARY, "--bars", ROOT / "bench/bars.toml", *words], capture_output=True, text=True, check=False)


class JudgingTest(unittest.TestCase):
    def judged(self, bar, value, **words):
        return judging.judge(judging.Row("row/one", value, "us", **words), {"row/*": bar})

    def test_each_kind_of_bar(self):
        self.assertTrue(self.judged({"value_max": 5}, 5).passes)
        self.assertFalse(self.judged({"value_max": 5}, 5.001).passes)
        self.assertTrue(self.judged({"ratio_max": 1.1}, 109, limit=100).passes)
        self.assertFalse(self.judged({"ratio_max": 1.1}, 111, limit=100).passes)
        self.assertFalse(self.judged({"ratio_min": 1}, 999, limit=1000, better="higher").passes)
        self.assertIsNone(self.judged(False, 1).passes)

    def test_a_row_without_a_bar_does_not_pass_and_a_bar_that_does_not_fit_is_refused(self):
        self.assertFalse(judging.judge(judging.Row("another", 1, "us"), {"row/*": False}).passes)
        for bar, words in [({"ratio_max": 1}, {}), ({"ratio_max": 1}, {"limit": 1, "better": "higher"})]:
            with self.assertRaises(ValueError):
                self.judged(bar, 1, **words)


class ReadingTest(unittest.TestCase):
    def test_what_a_job_printed(self):
        outcome = window_jobs.read("window-row put 12.5\nwindow-wrong put\nwindow-row get 3\nwindow-row\n", "", -11)
        self.assertEqual([outcome.why_not(row) for row in ["put", "get", "lock"]], ["wrong data", None, "crashed"])

    def test_messages_are_those_of_ranks_and_servers(self):
        table = "put  0 0 3 24 3\nsent by ranks     0 0 0 0 40\nsent by servers   0 0 0 0 2\n"
        self.assertEqual(measures.sent(window_jobs.read("", table, 0)), 42)
        self.assertIsNone(measures.sent(window_jobs.read("", table, 1)))
        self.assertIsNone(measures.sent(window_jobs.read("", "", 0)))

    def test_a_few_messages_more_at_a_start_are_none_of_a_call(self):
        counts = {100: 540, 2100: 10571}
        table = "sent by ranks 0 0 0 0 {}\nsent by servers 0 0 0 0 0\n"
        self.assertEqual(measures.messages_per(lambda n: window_jobs.read("", table.format(counts[n]), 0), 100, 2100), 5)
        self.assertIsNone(measures.messages_per(lambda n: window_jobs.read("", "", 0), 100, 2100))

    def test_messages_of_locks_are_those_of_one_kind(self):
        table = "mcs  22 0 0 0 40 20 3\n  waited < 256 ns  17\nmcs_by_cas  7 0 0 0 100 100 100\n"
        self.assertEqual(paper.sent_by_locks(window_jobs.read("", table, 0), "mcs"), 63)
        self.assertIsNone(paper.sent_by_locks(window_jobs.read("", table, 0), "ticket"))
        self.assertIsNone(paper.sent_by_locks(window_jobs.read("", table, 1), "mcs"))

    def test_the_middle_round_is_held_against_the_faster_host(self):
        rounds = {"openmpi": [100, 200, 300], "mpich": [900, 900, 900], "ours/openmpi": [110, 180, 600]}
        self.assertEqual(measures.middle(rounds, "ours/openmpi"), (110, 100, "openmpi"))
        self.assertIsNone(measures.middle({"openmpi": [], "ours/openmpi": [1]}, "ours/openmpi"))


class MistakesTest(unittest.TestCase):
    def test_they_are_refused(self):
        for words, said in [(["--filter", "no such row"], "no row's name holds"), (["--runs", "0"], "from 1 up"),
                            (["--json", "/nonexistent/rows.json"], "No such file"),
                            (["--library", "openmpi=/nonexistent"], "no such file")]:
            answer = bench(*words)
            self.assertEqual(answer.returncode, 2, words)
            self.assertIn(said, answer.stderr)


class WindowsTest(unittest.TestCase):
    def rows_of(self, *words):
        with tempfile.TemporaryDirectory(prefix="grapnel-windows-test-") as folder:
            file = pathlib.Path(folder, "rows.json")
            answer = bench("--json", file, *words)
            self.assertEqual(answer.returncode, 0, answer.stdout + answer.stderr)
            content = json.loads(file.read_text())
        self.assertEqual(content["schema"], 1)
        for row in content["rows"]:
            self.assertEqual(row["scenario"], "windows")
            self.assertTrue(math.isfinite(row["value"]), row)
        return {row["name"]: row for row in content["rows"]}

    def test_messages_are_exact(self):
        rows = self.rows_of("--quick", "--filter", "messages/", "--check")
        for call, count in MESSAGES.items():
            self.assertEqual(rows[f"messages/{call}/ours/{MPI}"]["value"], count, rows)
        self.assertLessEqual(rows[f"messages/100_puts_flush/ours/{MPI}"]["value"], 102, rows)

    def test_messages_of_a_contended_lock_are_exact(self):
        name = "paper/contended/2_origins/reader_writer"
        self.assertEqual(self.rows_of("--quick", "--filter", name, "--check")[name]["value"], 3)

    def test_a_program_without_windows_runs_with_and_without_the_library(self):
        rows = self.rows_of("--quick", "--filter", "plain_program/")
        self.assertEqual(sorted(rows), [f"plain_program/{what}/ours/{MPI}" for what in ["send_recv", "start"]])
        self.assertGreater(rows[f"plain_program/send_recv/ours/{MPI}"]["limit"], 0, rows)

    def test_a_busy_target_is_no_obstacle(self):
        rows = self.rows_of("--filter", "busy_target/two_nodes/allocate/")
        self.assertEqual(sorted(rows), sorted(f"busy_target/two_nodes/allocate/{call}/ours/{MPI}"
                                              for call in measures.BUSY))
        for row in rows.values():  # how many is for a quiet machine; where a call waits for the target, it is none
            self.assertGreater(row["value"], 0, row)

    def test_an_idle_target_is_held_against_the_hosts(self):
        rows = self.rows_of("--quick", "--filter", "idle_target/same_node/create/", "--runs", "1")
        for call in measures.IDLE["create"]:
            row = rows[f"idle_target/same_node/create/{call}/ours/{MPI}"]
            self.assertAlmostEqual(row["ratio"], row["value"] / row["limit"])
            self.assertIn("beside ", row["note"])


if __name__ == "__main__":
    skips.main(sys.argv[1:])
