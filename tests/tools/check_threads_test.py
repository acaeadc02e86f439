# SPDX-License-Identifier: Apache-2.0
import json
import shutil
import subprocess
import sys
import unittest

from support import ROOT, TreeTest

HEADER = """
#include "base/mutex.hpp"
class Counter {
 public:
  void add();
 private:
  grapnel::base::Mutex mutex_;
  int count_ GRAPNEL_GUARDED_BY(mutex_) = 0;
};
"""
RIGHT = '#include "one/counter.hpp"\nvoid Counter::add() { const grapnel::base::MutexLock lock(mutex_); ++count_; }\n'
WRONG = '#include "one/counter.hpp"\nvoid Counter::add() { ++count_; }\n'


@unittest.skipUnless(shutil.which("clang++-14") or shutil.which("clang++"), "clang is not installed")
class ThreadsTest(TreeTest):
    def judged(self, source):
        self.write("src/base/mutex.hpp", (ROOT / "src/base/mutex.hpp").read_text())
        self.write("src/one/counter.hpp", HEADER)
        self.write("src/one/counter.cpp", source)
        self.write("src/one/other.cpp", "int nothing() { return 0; }\n")
        compiled = [{"directory": str(self.root), "file": f"src/one/{name}.cpp",
                     "command": f"g++ -O2 -std=c++20 -I{self.root}/src -c src/one/{name}.cpp"}
                    for name in ("counter", "other")]
        self.write("build/compile_commands.json", json.dumps(compiled))
        words = [sys.executable, str(ROOT / "tools/check_threads.py"), "--root", str(self.root), "--build",
                 str(self.root / "build")]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    def test_a_member_under_its_mutex(self):
        ran = self.judged(RIGHT)
        self.assertEqual((ran.returncode, ran.stdout), (0, "threads: 1 sources judged, 0 with findings\n"), ran.stderr)

    def test_a_member_without_its_mutex(self):
        ran = self.judged(WRONG)
        self.assertEqual(ran.returncode, 1)
        self.assertRegex(ran.stdout, r"counter\.cpp:2:.*'count_' requires holding mutex 'mutex_'")


if __name__ == "__main__":
    unittest.main()
