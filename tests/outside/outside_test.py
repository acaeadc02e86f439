# SPDX-License-Identifier: Apache-2.0
"""tests/outside/run on small programs: what it finds, how it judges, and that nothing is left.

outside_test.py --bin BUILD-FOLDER --compiler CC [unittest arguments]
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lab"), str(HERE.parent / "harness")]

import job_list  # noqa: E402
import laboratory  # noqa: E402
import programs  # noqa: E402
import skips  # noqa: E402
from execution import marked  # noqa: E402
from judge import FAILED, PASSED, Hearing, Judge  # noqa: E402

OPTIONS = None

BAD_LINES = """
FAIL
3 errors
There were 10 errors
10 failed
Test failed: get returned 3
ERROR in rank 2
mismatch at element 7
Matrices disagree for iteration 38
result is not correct
value is incorrect
Assertion `x == y' failed.
MPI_ABORT was invoked on rank 0
max error 0.25
error = 1
errors: 1
1.0 errors
Aborting
wrong value 0
12 of 100 elements are wrong
100 elements wrong
-0 errors found 3 mismatches
PARMCI_Thing is not implemented
Segmentation fault (core dumped)
fail=0 error=3
it should fail but did not
error in iteration 3
iteration 3: 2 errors
ERROR in rank 0
Error: element 0 is 5, should be 7
ERROR proc 0: bad value 17
Error at index 0: got 3
test failed: 0 != 5
mismatch: 0 instead of 7
ERROR: no match at index 5
""".strip().splitlines()

GOOD_LINES = """
0 errors
No errors
 no errors found
Test passed with 0 failures
zero mismatches
Total number of disagreements 0
errors: 0
Errors = 0
failed: none
0 tests failed
0 of 3072 elements are wrong
0/20 failed
max error 1.2e-15
relative error: 3.4D-12
error=0.0
0 failed, 0 errors
checking for errors ... ok
error handling works
error codes are right
without any error
did not fail
Success
test_error_paths
terror and failsafe
all 7 values are right
errors 0, mismatches 0
Iteration: 0 Residual: 21236.626668 error: 2.926435
converged in                   276  iterations, error=    9.6043715704006160E-006
[vm:1] plm:rsh: Warning: setpgid(2,2) failed in parent with errno=Permission denied(13)
a non-zero exit code. Per user-direction, the job has been aborted.
""".strip().splitlines()


class Judgement(unittest.TestCase):
    def test_lines_that_tell_of_a_failure(self):
        for line in BAD_LINES:
            self.assertTrue(Judge().tells_failure(line), line)

    def test_lines_that_do_not(self):
        for line in GOOD_LINES:
            self.assertFalse(Judge().tells_failure(line), line)

    def test_the_programs_own_name_is_no_failure(self):
        hearing = Hearing(Judge(), ["/there/test-error", "test-error"])
        hearing.take(b"/there/test-error: ok\nrunning test-error\n")
        self.assertEqual(hearing.verdict(0), (PASSED, ""))

    def test_a_line_in_pieces_is_one_line(self):
        hearing = Hearing(Judge(), [])
        hearing.take(b"0 er")
        hearing.take(b"rors\nall was FAI")
        hearing.take(b"LED")
        self.assertIsNone(hearing.first_failure)
        hearing.finish()
        self.assertEqual(hearing.first_failure, "all was FAILED")

    def test_exit_code_and_output_both_count(self):
        hearing = Hearing(Judge(), [])
        hearing.take(b"wrong sum\n")
        self.assertEqual(hearing.verdict(0), (FAILED, "exit code 0, but it printed: wrong sum"))
        self.assertEqual(hearing.verdict(139)[1], "ended by signal 11; it printed: wrong sum")

    def heard(self, text):
        hearing = Hearing(Judge(), [])
        hearing.take(text.encode())
        hearing.finish()
        return hearing.first_failure

    def test_errors_that_fall_are_a_method_that_converges(self):
        falling = [" 1  error=  0.9", "11  error=  0.1", "21  error=  6.9D-002", "31  error=  1.5E-003"]
        self.assertIsNone(self.heard("\n".join(falling)))
        self.assertEqual(self.heard("\n".join(falling[:3])), "1  error=  0.9")  # too few
        self.assertEqual(self.heard("\n".join(falling[::-1])), "31  error=  1.5E-003")  # it grows
        self.assertEqual(self.heard("\n".join([*falling, "sum of 3: error= 0.5"])), "sum of 3: error= 0.5")
        self.assertEqual(self.heard("\n".join(line + " FAILED" for line in falling)), "1  error=  0.9 FAILED")
        many = "\n".join(f"{'x' * i} error 0.5" for i in range(100))
        self.assertEqual(self.heard(many), "error 0.5")

    def test_an_announced_failure_is_none(self):
        self.assertIsNone(self.heard("> Creating too much -- SHOULD FAIL\n(need 5 bytes)\n\n  failure\n"))
        self.assertEqual(self.heard("SHOULD FAIL\n failure\n failure"), "failure")
        self.assertEqual(self.heard("should fail:\ntest 3 failed"), "test 3 failed")

    def test_own_patterns(self):
        judge = Judge(fail=["kaputt"], harmless=["expected trouble: error"], must_print="^All done")
        self.assertTrue(judge.tells_failure("KAPUTT"))
        self.assertFalse(judge.tells_failure("expected trouble: error"))
        hearing = Hearing(judge, [])
        self.assertEqual(hearing.verdict(0)[0], FAILED)
        hearing.take(b"all done\n")
        self.assertEqual(hearing.verdict(0)[0], PASSED)
        self.assertFalse(Judge(use_defaults=False).tells_failure("error"))


class Lists(unittest.TestCase):
    def read(self, text, **how):
        with tempfile.NamedTemporaryFile("w", suffix=".list") as file:
            file.write(text)
            file.flush()
            return job_list.read_list(file.name, Path("/suite"), 2, 60, **how)

    def test_rows(self):
        rows = self.read("# a suite\nput 4\n\nget 3 arg=-n arg=5 env=A=b=c timeLimit=300 # slow\nlock\n"
                         "bad 2 resultTest=TestErrFatal xfail=ticket7 mem=3\ndeep/x arg=1\n")
        self.assertEqual([(row.name, row.ranks, row.words, row.timeout_s) for row in rows],
                         [("put", 4, [], 60), ("get", 3, ["-n", "5"], 300), ("lock", 2, [], 60), ("bad", 2, [], 60),
                          ("deep/x", 2, ["1"], 60)])
        self.assertEqual(rows[1].env, {"A": "b=c"})
        self.assertEqual((rows[3].result, rows[3].expected_failure), (job_list.NONZERO_EXIT, "ticket7"))
        self.assertEqual(rows[4].program, Path("/suite/deep/x"))
        self.assertEqual(len(self.read("a 1\nb 1\n", only=["a"])), 1)

    def test_rows_that_cannot_be_read_are_named(self):
        for row, words in (("a 0", "'0' is not a number"), ("a two", "'two' is not a number"),
                           ("a 2 speed=3", "key 'speed' is not known"), ("a 2 env=X", "no NAME=VALUE"),
                           ("a 2 resultTest=Maybe", "resultTest=Maybe"), ("a 2 more", "no KEY=VALUE")):
            with self.assertRaisesRegex(job_list.ListError, rf"line 2: .*{words}"):
                self.read("ok 1\n" + row)

    def test_what_a_row_may_expect(self):
        def heard(text, code, result):
            hearing = Hearing(Judge(must_print="No Errors"), [])
            hearing.take(text)
            hearing.finish()
            return hearing.verdict(code, result)[0]

        self.assertEqual(heard(b"fatal error\n", 1, job_list.NONZERO_EXIT), PASSED)
        self.assertEqual(heard(b"No Errors\n", 0, job_list.NONZERO_EXIT), FAILED)
        self.assertEqual(heard(b"No Errors\n", 1, job_list.NONZERO_EXIT_AND_PATTERN), PASSED)
        self.assertEqual(heard(b"\n", 1, job_list.NONZERO_EXIT_AND_PATTERN), FAILED)
        self.assertEqual(heard(b"error 3\n", 0, job_list.EXIT_CODE), PASSED)
        self.assertEqual(heard(b"", 1, job_list.EXIT_CODE), FAILED)


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="outside-test-")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, name, text, executable=True):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if executable else 0o644)
        return path

    def compile(self, name, *flags):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        source = "int main(void) { return 0; }"
        subprocess.run([OPTIONS.compiler, "-x", "c", "-", "-o", path, *flags], input=source, text=True, check=True)

    def names(self, **how):
        return [str(path.relative_to(self.root)) for path in programs.find(self.root, **how)]


class Finding(Folder):
    def test_programs_and_nothing_else(self):
        self.compile("a")
        self.compile("static", "-static")
        self.compile("deep/b", "-pie")
        self.compile("fixed", "-no-pie")
        self.compile("lib.so", "-shared", "-fPIC")
        self.compile("plugin", "-shared", "-fPIC")
        self.compile("object.o", "-c")
        self.compile("CMakeFiles/3/a.out")
        self.write("script", "#!/bin/sh\n")
        self.write("text", "words", executable=False)
        self.assertEqual(self.names(), ["a", "fixed", "static", "deep/b"])
        self.assertEqual(self.names(scripts=True), ["a", "fixed", "script", "static", "deep/b"])
        self.assertEqual(self.names(only=["deep/*", "fix*"], skip=["b"]), ["fixed"])

    def test_libtools_doubles_run_once(self):
        self.compile(".libs/wrapped")
        shutil.copy(self.root / ".libs/wrapped", self.root / ".libs/lt-wrapped")
        self.write("wrapped", "#!/bin/sh\n# wrapped - temporary wrapper script for .libs/wrapped\n# By libtool\n")
        self.compile(".libs/alone")
        self.assertEqual(self.names(), ["wrapped", ".libs/alone"])


class Running(Folder):
    launcher = ("--mpi", "none")

    def command(self, *words):
        tool = ["--grapnel", OPTIONS.bin / "bin/grapnel"] if "none" in self.launcher else []
        return [HERE / "run", self.root, "--scripts", "-n", "2", *self.launcher, *tool, *map(str, words)]

    def run_all(self, *words):
        file = self.root / "report.json"
        command = self.command("--json", file, *words)
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
        report = json.loads(file.read_text()) if file.exists() else None
        return done, report

    def rows(self, *words):
        done, report = self.run_all(*words)
        self.assertIsNotNone(report, done.stderr)
        return done.returncode, {row["name"]: row for row in report["programs"]}, report["summary"], done.stdout

    def test_verdicts(self):
        self.write("good", "#!/bin/sh\necho 0 errors\n")
        self.write("liar", "#!/bin/sh\necho value 3 is wrong\n")
        self.write("code", "#!/bin/sh\necho fine\nexit 3\n")
        self.write("slow", "#!/bin/sh\necho started\nsleep 60\n")
        code, rows, summary, out = self.rows("--timeout", "8")
        self.assertEqual(code, 1)
        self.assertEqual({name: row["verdict"] for name, row in rows.items()},
                         {"good": "passed", "liar": "failed", "code": "failed", "slow": "slow"})
        self.assertIn("value 3 is wrong", rows["liar"]["reason"])
        self.assertEqual(rows["code"]["exit_code"], 3)
        self.assertIn("started", rows["slow"]["tail"])
        self.assertEqual(summary, {"passed": 1, "failed": 2, "slow": 1})
        self.assertIn("1 passed, 2 failed, 1 slow", out)

    def test_all_passed_is_exit_code_0_and_settings_arrive(self):
        show = 'echo "nodes=$GRAPNEL_NODES more=$MORE words=$*"'
        self.write("deep/show", f'#!/bin/sh\n{show}\ntest "$(pwd)" = "$(dirname "$(readlink -f "$0")")"\n')
        code, rows, _, out = self.rows("--nodes", "2", "--env", "MORE=x y", "--args", "show=1 '2 3'")
        self.assertEqual(code, 0, out)
        self.assertEqual(rows["deep/show"]["tail"], 2 * ["nodes=2 more=x y words=1 2 3"])

    def test_a_list_names_ranks_and_words(self):
        self.write("show", '#!/bin/sh\necho "words=$* more=$MORE"\n')
        self.write("not_listed", "#!/bin/sh\nexit 1\n")
        rows = self.write("rows", "show 3 arg=1 arg=2\nshow 1 env=MORE=y\nabsent 2\n", executable=False)
        done, report = self.run_all("--testlist", rows)
        first, second, absent = report["programs"]
        self.assertEqual(first["tail"], 3 * ["words=1 2 more="])
        self.assertEqual((second["ranks"], second["tail"]), (1, ["words= more=y"]))
        self.assertEqual((absent["verdict"], absent["reason"]), ("failed", "there is no such program"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("2 passed, 1 failed, 0 slow", done.stdout)

    def test_a_library_that_yields_is_preloaded_behind_the_given_one(self):
        self.write("show", '#!/bin/sh\necho "$LD_PRELOAD"\n')
        _, rows, _, _ = self.rows("--yield", "--env", "LD_PRELOAD=libm.so.6")
        self.assertRegex(rows["show"]["tail"][0], r"^libm\.so\.6:/.*/libyield\.so$")

    def test_much_output_is_taken_and_only_its_end_kept(self):
        self.write("loud", "#!/bin/sh\nseq 1 200000\n")
        code, rows, _, _ = self.rows()
        self.assertEqual((code, len(rows["loud"]["tail"])), (0, 40))

    def test_what_a_program_leaves_is_a_failure_and_goes(self):
        # The file's name is one of ours; the process has left session and group.
        name = f"/dev/shm/grapnel-outside-test-{os.getpid()}"
        self.addCleanup(lambda: Path(name).unlink(missing_ok=True))
        self.write("file", f"#!/bin/sh\ntouch {name}\n")
        self.write("process", "#!/bin/sh\nsetsid sleep 71 >/dev/null 2>&1 &\n")
        _, rows, _, _ = self.rows("--timeout", "8")
        self.assertEqual(rows["file"]["verdict"], "failed")
        self.assertIn(name, rows["file"]["reason"])
        self.assertEqual(self.sleepers("71"), [])
        self.check_process(rows["process"])

    def check_process(self, row):
        """grapnel run ends what ranks leave by itself."""
        self.assertEqual(row["verdict"], "passed", row)

    @staticmethod
    def sleepers(seconds):
        found = []
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if entry.read_bytes() == f"sleep\0{seconds}\0".encode():
                    found.append(entry)
            except OSError:
                pass
        return found

    def test_interrupted_it_ends_the_job_and_reports(self):
        self.write("long", "#!/bin/sh\nexec sleep 73\n")
        for number in (signal.SIGINT, signal.SIGTERM):
            job = subprocess.Popen(self.command(), stdout=subprocess.PIPE, text=True)
            end = time.monotonic() + 20
            while not self.sleepers("73") and time.monotonic() < end:
                time.sleep(0.02)
            job.send_signal(number)
            out, _ = job.communicate(timeout=20)
            self.assertEqual(job.returncode, 130)
            self.assertIn("1 not run", out)
            self.assertEqual(self.sleepers("73"), [])

    def test_mistakes_are_errors_of_the_caller(self):
        for words in (["--only", "nothing"], ["-n", "0"], ["--fail-pattern", "("], ["--env", "x"], ["--timeout", "0"],
                      ["--timeout", "nan"], ["--timeout", "inf"], ["--testlist", "absent"], ["--testlist", __file__],
                      ["--mpi", "none", "--nodes", "3"]):
            self.assertEqual(self.run_all(*words)[0].returncode, 2, words)

    def test_nothing_runs_when_the_report_could_not_be_written(self):
        self.write("marks", "#!/bin/sh\ntouch ran\n")
        for file in (self.root / "absent/report.json", self.root):
            done = self.run_all("--json", file)[0]
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"--json {file}: ", done.stderr)
        self.assertFalse((self.root / "ran").exists())


@unittest.skipUnless(shutil.which("mpirun.openmpi"), "Open MPI is not installed")
class RunningByOpenMpi(Running):
    launcher = ("--mpi", "openmpi")

    def check_process(self, row):
        self.assertEqual(row["verdict"], "failed")
        self.assertRegex(row["reason"], r"left behind: \d process")


@unittest.skipUnless(shutil.which("mpiexec.hydra"), "MPICH is not installed")
class RunningByHydra(Running):
    launcher = ("--mpi", "mpich")

    def check_process(self, row):
        """Hydra waits for whatever a rank has started."""
        self.assertEqual(row["verdict"], "slow")


class RunningOnHosts(Folder):
    def setUp(self):
        super().setUp()
        try:
            laboratory.network.check_permitted()
        except laboratory.LabError as error:
            self.skipTest(str(error))
        if not laboratory.MPIS:
            self.skipTest("neither Open MPI's mpirun nor MPICH's hydra is installed")
        self.lab = laboratory.Laboratory(3, build=OPTIONS.bin)
        self.addCleanup(self.lab.down)

    def test_programs_run_across_the_hosts(self):
        self.write("where", '#!/bin/sh\ntest "$MORE" = "x y" && hostname\n')
        self.write("stays", "#!/bin/sh\nsetsid sleep 74 &\nsleep 74\n")
        for mpi in (*laboratory.MPIS, "none"):
            file = self.root / "report.json"
            words = ["-n", "6", "--mpi", mpi, "--hosts", "--lab", str(self.lab.number), "--timeout", "10", "--scripts",
                     "--env", "MORE=x y", "--grapnel", OPTIONS.bin / "bin/grapnel"]
            subprocess.run([HERE / "run", self.root, *words, "--json", file], stdout=subprocess.DEVNULL, check=False)
            rows = {row["name"]: row for row in json.loads(file.read_text())["programs"]}
            self.assertEqual(rows["where"]["verdict"], "passed", rows)
            # The launchers have something to say, too.
            said = [line for line in rows["where"]["tail"] if line.startswith("glab")]
            self.assertEqual(sorted(said), sorted(2 * self.lab.hosts))
            self.assertEqual(rows["stays"]["verdict"], "slow")
            self.assertTrue(self.lab.is_empty_within(5))


class Marks(unittest.TestCase):
    def test_only_marked_processes_are_ours(self):
        mine = subprocess.Popen(["sleep", "75"], env=dict(os.environ, OUTSIDE_TEST_MARK="m1"))
        other = subprocess.Popen(["sleep", "75"], env=dict(os.environ, OUTSIDE_TEST_MARK="m10"))
        try:
            time.sleep(0.1)
            self.assertEqual(marked("m1"), [mine.pid])
        finally:
            for process in (mine, other):
                process.kill()
                process.wait()


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=lambda text: Path(text).resolve(), required=True, help="the build folder")
    parser.add_argument("--compiler", default="cc")
    OPTIONS, rest = parser.parse_known_args()
    skips.main(rest)


if __name__ == "__main__":
    main()
