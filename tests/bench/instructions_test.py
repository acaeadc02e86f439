# SPDX-License-Identifier: Apache-2.0
"""Counted instructions and their bars. The count itself is tried where valgrind is installed.

usage: instructions_test.py PROGRAM
"""

import contextlib
import io
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench/instructions"))
import count  # noqa: E402

PROGRAM = sys.argv.pop(1)


class Rows(unittest.TestCase):
    def test_a_row_passes_up_to_its_bar(self):
        bars = {"put": {"value_max": 56.5}}
        self.assertTrue(count.row_of("put", 56.5, bars)["pass"])
        self.assertFalse(count.row_of("put", 56.51, bars)["pass"])
        self.assertFalse(count.row_of("a call without a bar", 1, bars)["pass"])

    def run_check(self, bar):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as bars, contextlib.redirect_stdout(io.StringIO()) as out:
            bars.write(f'[instructions]\n"put/8B" = {{ value_max = {bar} }}\n')
            bars.flush()
            sys.argv[1:] = ["--program", PROGRAM, "--bars", bars.name, "--filter", "put/8B", "--check"]
            return count.main(), out.getvalue()

    @unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed")
    def test_a_put_is_counted_and_judged(self):
        self.assertEqual(self.run_check(1_000_000)[0], 0)
        outcome, text = self.run_check(5)
        self.assertEqual(outcome, 1)
        self.assertRegex(text, r"put/8B +\d+\.\d\d instructions   at most 5 +MISSES IT")


if __name__ == "__main__":
    unittest.main()
