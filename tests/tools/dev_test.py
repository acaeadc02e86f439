# SPDX-License-Identifier: Apache-2.0
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from support import ROOT


def dev(*words):
    return subprocess.run([ROOT / "dev", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)


class DevTest(unittest.TestCase):
    def test_help_has_one_line_for_every_command(self):
        text = dev("help").stdout
        for command in ["build", "install", "demo", "test", "soak", "bench", "check", "format", "deps", "lab"]:
            self.assertRegex(text, rf"(?m)^  {command}\b.*\S")

    def test_what_is_unknown_is_an_error_of_the_caller(self):
        for words in [
            ["nonsense"],
            [],
            ["build", "fast"],
            ["build", "--mpi", "lam"],
            ["build", "--mpi"],
            ["build", "release", "asan"],
            ["build", "--speed"],
            ["install"],
            ["install", ""],
            ["install", "--mpi", "none"],
            ["test", "one", "two"],
            ["test", "--ful"],
            ["test", "--minutes", "abc"],
            ["test", "--minutes", "-5"],
            ["test", "--minutes", "0"],
            ["test", "--minutes", "1440"],
            ["test", "--full", "pattern"],
            ["test", "--release"],
            ["test", "--release", "buster"],
            ["test", "--release", "trixie", "--release", "bookworm"],
            ["deps", "everything"],
            ["check", "me"],
            ["lab"],
            ["bench", "locks", "--plot"],
            ["bench", "speed"],
            ["bench", ""],
        ]:
            answer = dev(*words)
            self.assertEqual(answer.returncode, 2, words)
            self.assertTrue(answer.stderr, words)

    def test_the_scenario_of_a_bench(self):
        script = '. "$1/tools/dev/common.sh"; . "$1/tools/dev/run.sh"; name_scenario "${@:2}"; echo "${words[@]}"'
        for words, named in [([], "rma"), (["--quick"], "rma --quick"), (["sync", "--quick"], "sync --quick"),
                             (["--help"], "--help")]:
            answer = subprocess.run(["bash", "-c", script, "dev", ROOT, *words], capture_output=True, text=True, check=True)
            self.assertEqual(answer.stdout.strip(), named)

    def test_folders_of_builds(self):
        for words, folder in [
            ([], "build/release"),
            (["asan"], "build/asan"),
            (["--mpi", "none"], "build/release-none"),
            (["--cc=clang"], "build/release-clang"),
            (["tsan", "--cc", "clang", "--mpi", "mpich"], "build/tsan-mpich-clang"),
        ]:
            self.assertEqual(dev("dir", *words).stdout.strip(), folder)

    def in_pieces(self, script, *words, **variables):
        """What a script prints that has every piece of ./dev."""
        pieces = "".join(f'. "{ROOT}/tools/dev/{piece}.sh"; ' for piece in ("common", "packages", "build", "release", "run"))
        return subprocess.run(["bash", "-euc", f"root={ROOT}; {pieces}{script}", "dev", *words], capture_output=True,
                              text=True, check=False, env=dict(os.environ, **variables))

    def test_another_release_is_for_root(self):
        answer = self.in_pieces('id() { echo 1000; }; command_test --release trixie')
        self.assertEqual(answer.returncode, 1)
        self.assertIn("only root can", answer.stderr)

    def test_what_runs_on_another_release_ends_with_the_command(self):
        if os.getuid() != 0 or self.in_pieces("in_namespaces true").returncode != 0:
            self.skipTest("namespaces need root")
        folder = tempfile.mkdtemp(prefix="dev-test-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        pieces = "".join(f'. "{ROOT}/tools/dev/{piece}.sh"; ' for piece in ("common", "release"))
        inside = 'mount -t tmpfs tmpfs "$0"; touch "$0/mounted"; (sleep 1000; :) & echo up; wait'
        command = ["bash", "-euc", pieces + 'in_namespaces bash -c "$@"; :', "dev", inside, folder]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as job:
            self.assertEqual(job.stdout.readline(), "up\n")
            job.kill()
            job.communicate(timeout=10)  # every process of the job has its stdout: this is the end of the last one
        self.assertEqual(os.listdir(folder), [], "the mount is still here")

    def test_a_prefix_that_cannot_be_written_is_named_before_the_build(self):
        with tempfile.TemporaryDirectory() as folder:
            for prefix in (f"{folder}/new/deep", folder):
                answer = self.in_pieces('check_prefix "$1"', prefix)
                self.assertEqual((answer.returncode, os.listdir(folder)), (0, []), answer.stderr)
            for prefix in ("/proc/grapnel", f"{__file__}/grapnel"):
                answer = dev("install", prefix)
                self.assertEqual(answer.returncode, 1)
                self.assertIn(f"cannot install into {prefix}", answer.stderr)
                self.assertNotIn("building", answer.stderr)

    def test_a_folder_of_another_clone_is_configured_anew(self):
        script = 'build_dir=$1 preset=release mpi=openmpi cc=gcc; forget_other_clone; ls "$1"'
        for home, left in ((str(ROOT), ["CMakeCache.txt", "CMakeFiles", "kept"]), ("/elsewhere/grapnel", ["kept"])):
            with tempfile.TemporaryDirectory() as folder:
                with open(f"{folder}/CMakeCache.txt", "w", encoding="utf-8") as cache:
                    cache.write(f"CMAKE_HOME_DIRECTORY:INTERNAL={home}\n")
                os.mkdir(f"{folder}/CMakeFiles")
                os.mkdir(f"{folder}/kept")
                answer = self.in_pieces(script, folder)
                self.assertEqual(answer.stdout.split(), left, answer.stderr)
                self.assertEqual("was configured for the clone in /elsewhere" in answer.stderr, home != str(ROOT))

    def test_which_version_of_clang_is_taken(self):
        for there, taken in ((["clang", "clang-14", "clang-19"], "clang-14"), (["clang", "clang-19"], "clang"),
                             (["clang-9", "clang-19", "clang-format-20"], "clang-19"), (["gcc"], "")):
            with tempfile.TemporaryDirectory() as folder:
                for name in there:
                    os.symlink("/bin/true", f"{folder}/{name}")
                for name in ("grep", "sort", "tr", "wc"):
                    os.symlink(shutil.which(name), f"{folder}/{name}")
                answer = self.in_pieces('PATH=$1; newest_of clang || true', folder)
                self.assertEqual(os.path.basename(answer.stdout.strip()), taken, answer.stderr)

    def test_a_package_may_have_an_alternative(self):
        answer = self.in_pieces('installed_of "no-such-package|bash"; available_of "no-such-a|no-such-b"; in_words "a|b" c')
        self.assertEqual(answer.stdout.split("\n"), ["bash", "no-such-a", "a or b c"], answer.stderr)
        # More words than a pipe holds, and a command that fails when it is cut off.
        answer = self.in_pieces('set -o pipefail; apt-cache() { [ "$2" = b ] && echo "  Candidate: 1" && seq 100000; }; '
                                'available_of "a|b"')
        self.assertEqual(answer.stdout, "b\n", answer.stderr)

    def test_worlds_and_skips_are_told_after_the_tests(self):
        log = """worlds: nodes: 6 tests, ranks/nodes 2/2 8/3
worlds: nodes: 4 tests, ranks/nodes 2/2 5/5
file_test.cpp:7: Skipped
no such machine
skipped: Case.test: no root
"""
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(log)
            file.flush()
            script = '. "$1/tools/dev/common.sh"; . "$1/tools/dev/run.sh"; tell_worlds "$2"'
            answer = subprocess.run(["bash", "-c", script, "dev", ROOT, file.name], capture_output=True, text=True, check=True)
        self.assertEqual(
            answer.stderr.splitlines()[1:],
            [
                "  nodes: 10 tests: 2/2 8/3 5/5",
                "  skipped: Case.test: no root (1 times)",
                "  skipped: no such machine (1 times)",
            ],
        )


    def test_a_case_that_skips_leaves_no_folder(self):
        program = """import jobs
class Skipping(jobs.Case):
    def setUp(self):
        super().setUp()
        self.skipTest("its launcher is not here")
    def test_one(self):
        pass
import argparse
jobs.main(argparse.ArgumentParser())
"""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, check=True,
                           env=dict(os.environ, TMPDIR=folder, PYTHONPATH=str(ROOT / "tests/launch")))
            self.assertEqual(os.listdir(folder), [])

    def test_a_skip_is_printed_with_its_reason(self):
        program = """import unittest, skips
class Case(unittest.TestCase):
    def test_here(self):
        pass
    @unittest.skip("no such\\nmachine")
    def test_there(self):
        pass
skips.main()
"""
        answer = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True, check=True,
                                env=dict(os.environ, PYTHONPATH=str(ROOT / "tests/harness")))
        self.assertIn("\nskipped: __main__.Case.test_there: no such machine\n", answer.stderr)


if __name__ == "__main__":
    unittest.main()
