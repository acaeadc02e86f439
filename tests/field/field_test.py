# SPDX-License-Identifier: Apache-2.0
"""Conditions of the field: signals, refused system calls, limits, outputs that take nothing, mixed builds, mistakes.

field_test.py --tool BIN/grapnel --lu BIN/lu --probe BIN/launch_probe --other-build BIN --family openmpi|mpich|none
--runtime-probe BIN --leaks FILE [--signals BIN --signals-grapnel BIN --libraries FILE… --signals-armci BIN…
--launcher BIN/mpiexec --sanitized BIN] [unittest arguments]
"""
import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "launch"))
import jobs  # noqa: E402
import seccomp  # noqa: E402
from jobs import OPTIONS, Case  # noqa: E402

LU = ["--n", "64", "--block", "8"]


def links_of(process):
    """What the process has open, by descriptor."""
    links = {}
    try:
        for name in os.listdir(f"/proc/{process}/fd"):
            links[int(name)] = os.readlink(f"/proc/{process}/fd/{name}")
    except OSError:
        pass  # the descriptor, or the process, has gone
    return links


def ignoring(*signals):
    def prepare():
        for one in signals:
            signal.signal(one, signal.SIG_IGN)
    return prepare


class Signals(Case):
    IGNORED = (signal.SIGHUP, signal.SIGFPE)

    def setUp(self):
        super().setUp()
        if OPTIONS.signals is None:
            self.skipTest("a sanitizer takes signals itself")

    def hold(self, launcher, *words, ignored=IGNORED):
        named = [word for one in ignored for word in ("--ignored", int(one))]
        code, out, err = self.run_job(*words, *named, launcher=launcher, preexec_fn=ignoring(*ignored))
        self.assertEqual(code, 0, out + err)
        self.assertIn("signals ok", out)

    def test_a_library_that_is_loaded_later(self):
        for library in OPTIONS.libraries:
            with self.subTest(library=library):
                self.hold([OPTIONS.signals], "--load", library)

    def test_a_program_on_libgrapnel(self):
        self.hold([OPTIONS.signals_grapnel])
        self.hold([OPTIONS.tool, "run", "-n", "2", "--nodes", "2", "--", OPTIONS.signals_grapnel])

    def test_a_program_on_libarmci_shared_or_static(self):
        if not OPTIONS.signals_armci:
            self.skipTest("this build has no MPI")
        taken = ["--taken", int(signal.SIGUSR1)] if OPTIONS.family == "mpich" else []
        for program in OPTIONS.signals_armci:
            with self.subTest(program=program):
                # Not FPE: Open MPI takes it even where it is ignored.
                self.hold([program], *taken, ignored=(signal.SIGHUP, signal.SIGILL))
        self.remove_what_mpirun_left()

    def test_what_the_user_names_for_ucx_stays_with_it(self):
        self.environment["UCX_HANDLE_ERRORS"] = "bt"
        code, out, _ = self.run_job(launcher=[OPTIONS.signals_grapnel])
        self.assertEqual(code, 1)
        for number in (signal.SIGILL, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV):
            self.assertIn(f"at main: signal {int(number)} ", out)
        self.assertNotIn(f"at main: signal {int(signal.SIGHUP)} ", out)


class Outputs(Case):
    """What cannot be written must not count as written."""

    def with_output(self, stdout, stderr, *command, **more):
        """Exit code and stderr, as far as it is read."""
        job = self.start(launcher=list(command), **{"stdout": stdout, "stderr": stderr, **more})
        _, err = job.communicate(timeout=60)
        return job.returncode, err or ""

    def start(self, *arguments, launcher=None, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen([*launcher, *map(str, arguments)], env=self.environment, text=True, **more)

    def test_a_full_disk(self):
        run = [OPTIONS.tool, "run", "-n", "2", "--"]
        with open("/dev/full", "w", encoding="utf-8") as full:
            for command in ([OPTIONS.lu, *LU], [*run, OPTIONS.lu, *LU],
                            [*run[:-1], "--label", "--", OPTIONS.lu, *LU],
                            [*run[:-1], "--label", "--", "seq", "100000"], [OPTIONS.lu, "--help"], [OPTIONS.tool, "info"],
                            [OPTIONS.tool, "info", "--json"], [OPTIONS.tool, "--version"], [OPTIONS.tool, "--help"]):
                with self.subTest(command=command):
                    code, err = self.with_output(full, subprocess.PIPE, *command)
                    self.assertEqual(code, 1, err)
                    self.assertIn("standard output cannot be written: No space left on device", err)

    def test_a_reader_that_is_gone(self):
        for ignored in (True, False):  # SIGPIPE
            for words in (["info"], ["--version"]):
                reader, writer = os.pipe()
                os.close(reader)
                code, err = self.with_output(writer, subprocess.PIPE, OPTIONS.tool, *words, restore_signals=not ignored)
                os.close(writer)
                self.assertEqual(code, 1, err)
                self.assertIn("Broken pipe", err)

    def test_a_job_whose_reader_is_gone_ends(self):
        for label in ([], ["--label"]):
            with self.subTest(label=label):
                job = self.start("-n", 3, *label, "--", "yes", launcher=[OPTIONS.tool, "run"], stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL)
                self.assertTrue(job.stdout.readline())
                job.stdout.close()
                self.assertNotEqual(job.wait(20), 0)

    def test_statistics_are_no_result(self):
        self.environment["GRAPNEL_STATS"] = "1"
        reader, writer = os.pipe()
        os.close(reader)
        with open("/dev/full", "w", encoding="utf-8") as full:
            for errors in (full, writer):
                code, _ = self.with_output(subprocess.DEVNULL, errors, OPTIONS.tool, "run", "-n", "2", "--nodes", "2",
                                           "--", OPTIONS.lu, *LU)
                self.assertEqual(code, 0)
        os.close(writer)
        code, _ = self.with_output(subprocess.DEVNULL, subprocess.PIPE, *jobs.closing((2,)), OPTIONS.lu, *LU)
        self.assertEqual(code, 0)


class Closed(Case):
    """Programs that are started without some of the standard descriptors, as daemons do."""

    def test_no_descriptor_of_grapnel_takes_their_places(self):
        """Else what the program prints lands in its shared memory, or in a socket."""
        for closed in jobs.CLOSED:
            for launcher, ranks in (([OPTIONS.tool, "run", "-n", "3", "--nodes", "2"], 3), ([], 1)):
                with self.subTest(closed=closed, launcher=launcher):
                    job = self.start(*launcher, OPTIONS.runtime_probe, "stay", "sleep", launcher=jobs.closing(closed))
                    try:
                        found = self.links_of_ranks(ranks)
                    finally:
                        job.terminate()
                        job.communicate(timeout=10)
                        self.wait_for_the_ends()
                    for links in found:
                        self.assertTrue({links.get(number, "none") for number in closed} <= {"/dev/null", "none"}, links)

    def links_of_ranks(self, ranks, limit_s=10):
        """Of all ranks, once their shared memory is open."""
        begin = time.monotonic()
        while time.monotonic() - begin < limit_s:
            found = [links for links in map(links_of, jobs.marked_processes(self.mark))
                     if any(link.startswith("/memfd:") for link in links.values())]
            if len(found) == ranks:
                return found
            time.sleep(0.01)
        return self.fail(f"{ranks} ranks have not started within {limit_s} s")


class Refused(Case):
    """System calls that containers refuse."""

    def run_refused(self, *names):
        return self.run_job("-n", 3, "--nodes", 2, "--", OPTIONS.lu, *LU, preexec_fn=seccomp.refusing(*names))

    def test_placement_and_the_like_are_wishes(self):
        for names in (["sched_setaffinity"], ["getrandom"],
                      ["sched_setaffinity", "mbind", "madvise", "setpgid", "mlock", "setpriority", "sched_setscheduler",
                       "set_mempolicy", "membarrier", "getrandom"]):
            with self.subTest(names=names):
                code, out, err = self.run_refused(*names)
                self.assertEqual(code, 0, out + err)
                self.assertIn("lu: PASS", out)

    def test_what_cannot_be_done_without_is_named(self):
        code, out, err = self.run_refused("memfd_create")
        self.assertEqual(code, 1)
        self.assertRegex(out + err, "lu: .*memfd_create")


class Limits(Case):
    def run_limited(self, kind, value, *words):
        def prepare():
            resource.setrlimit(kind, (value, resource.getrlimit(kind)[1]))
        return self.run_job(*words, preexec_fn=prepare)

    def test_too_few_descriptors_are_named(self):
        for limit, ranks, nodes in (*((limit, 4, 2) for limit in (8, 12, 16, 20, 24, 32, 40)), (32, 12, 6)):
            with self.subTest(limit=limit, ranks=ranks):
                code, out, err = self.run_limited(resource.RLIMIT_NOFILE, limit, "-n", ranks, "--nodes", nodes, "--",
                                                  OPTIONS.lu, *LU)
                if code == 0:
                    self.assertIn("lu: PASS", out)
                else:
                    self.assertRegex(out + err, r"ulimit -n")
                for line in err.splitlines():
                    self.assertLessEqual(line.count("ulimit -n"), 1, line)

    def test_a_stack_limit_of_more_than_there_is(self):
        code, out, err = self.run_limited(resource.RLIMIT_STACK, 64 << 30, "-n", 3, "--nodes", 2, "--", OPTIONS.lu, *LU)
        if code == 0:
            self.assertIn("lu: PASS", out)
        else:
            self.assertIn("ulimit -s", out + err)


class Builds(Case):
    """Ranks that are not alike."""

    def join(self, of_rank_1, program, *words):
        script = f'if [ "${{PMI_RANK:-$PMIX_RANK}}" = 1 ]; then {of_rank_1}; fi; exec "$0" "$@"'
        return self.run_job("-n", 3, "--nodes", 2, "--", "sh", "-c", script, program, *words)

    def test_another_build_is_named(self):
        code, out, err = self.join(f'exec "{OPTIONS.other_build}" check', OPTIONS.probe, "check")
        self.assertNotEqual(code, 0)
        self.assertRegex(out + err, r"must have one build of Grapnel, and rank 1 on host \S+ has 9\.9\.9 \(build "
                                    r"0123456789ab\), rank 0 on host \S+ has \S+ \(build [0-9a-f]{12}\)")

    def test_another_setting_is_named(self):
        code, out, err = self.join("export GRAPNEL_LOCK=mcs", OPTIONS.lu, *LU)
        self.assertNotEqual(code, 0)
        self.assertRegex(out + err, "rank 1 on host .*GRAPNEL_LOCK=mcs, rank 0 .*GRAPNEL_LOCK=cohort;")
        self.assertNotIn("GRAPNEL_BARRIER", out + err)  # it is the same in both


class Mistakes(Case):
    def test_words_that_lead_to_the_remedy(self):
        for words, code, remedy in (
                (["rnu", "-n", "2", "true"], 2, "did you mean `grapnel run`?"),
                (["inof"], 2, "did you mean `grapnel info`?"),
                (["run", "-np", "2", "true"], 2, "here it is -n"),
                (["run", "-n", "x", "true"], 2, "-n takes their number"),
                (["status", "x"], 2, "status: process: x: a number from 1 up"),
                (["run", self.folder], 126, "is a folder")):
            with self.subTest(words=words):
                got, _, err = self.run_job(*words, launcher=[OPTIONS.tool])
                self.assertEqual(got, code)
                self.assertIn(remedy, err)

    def test_a_device_that_is_not_there(self):
        self.environment.update(UCX_NET_DEVICES="nic7", UCX_TLS="tcp")
        code, out, err = self.run_job("-n", 2, "--nodes", 2, "--", OPTIONS.lu, *LU)
        self.assertEqual(code, 1)
        self.assertRegex(out + err, "UCX_NET_DEVICES=nic7 is set, and the devices here are: .*lo")

    def test_a_setting_that_cannot_be_read(self):
        self.environment["GRAPNEL_POOL_BYTES"] = "512Q"
        code, _, err = self.run_job("info", launcher=[OPTIONS.tool])
        self.assertEqual(code, 1)
        self.assertIn("bytes or K M G T", err)

    def test_the_launcher_of_the_builds_own_mpi(self):
        if OPTIONS.family == "none" or not OPTIONS.launcher:
            self.skipTest("this build has no MPI, or its launcher is not here")
        version = "HYDRA build details:" if OPTIONS.family == "openmpi" else "mpirun (Open MPI) 4.1.4"
        folder = tempfile.mkdtemp(prefix="field-mpirun-")
        self.addCleanup(shutil.rmtree, folder)
        other = os.path.join(folder, "mpirun")
        with open(other, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\necho '{version}'\n")
        os.chmod(other, 0o755)
        self.environment["PATH"] = folder + ":" + self.environment["PATH"]
        code, _, err = self.run_job("--mpi", "-n", 2, "--", "true")
        self.remove_what_mpirun_left()
        self.assertEqual(code, 0, err)
        self.assertNotIn(f"handing over to {other}", err)
        self.environment["PATH"] = folder
        code, _, err = self.run_job("--mpi", "-n", 2, "--", "true")
        self.assertEqual(code, 1)
        self.assertIn("of which there is no launcher in PATH", err)


class Sanitized(Case):
    def test_an_address_sanitized_program_ends_clean(self):
        if OPTIONS.sanitized is None:
            self.skipTest("the whole build is sanitized")
        self.environment["LSAN_OPTIONS"] = f"suppressions={OPTIONS.leaks}:print_suppressions=0"
        code, out, err = self.run_job("-n", 2, "--nodes", 2, "--", OPTIONS.sanitized)
        self.assertNotIn("LeakSanitizer", out + err)
        self.assertNotIn("AddressSanitizer", out + err)
        self.assertEqual((code, out.count("sanitized ok")), (0, 2), out + err)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("--tool", "--lu", "--probe", "--other-build", "--runtime-probe", "--family", "--leaks"):
        parser.add_argument(name, required=True)
    for name in ("--signals", "--signals-grapnel", "--launcher", "--sanitized"):
        parser.add_argument(name)
    for name in ("--libraries", "--signals-armci"):
        parser.add_argument(name, nargs="+", default=[])
    jobs.main(parser)
