# SPDX-License-Identifier: Apache-2.0
"""What a hang prints: `grapnel status`, SIGUSR1 and the time limit of `grapnel run`, the watchdog; and a crash.

status_test.py --tool BIN/grapnel --probe BIN/hang_probe [unittest arguments]
"""
import argparse
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "launch"))
import jobs  # noqa: E402
from jobs import OPTIONS, Case  # noqa: E402

LINES = (
    r"rank 0 \(node 0, process \d+\): does not wait; holds lock 0 of rank 0",
    r"rank 1 \(node 0, process \d+\): waits in lock for \d+\.\d s: lock 0 of rank 0, held by rank 0",
    r"rank 2 \(node 1, process \d+\): waits in wait_notify for \d+\.\d s: a notification from rank 0",
    r"rank 3 \(node 1, process \d+\): waits in barrier for \d+\.\d s: the barrier of ranks 0 to 3; "
    r"ranks 0 to 2 do not wait in it",
    r"node 0's server \(rank 0's process\): (asleep|awake), \d+ requests handled, 0 parked",
    r"node 1's server \(rank 2's process\): (asleep|awake), \d+ requests handled, 0 parked",
)
REQUESTS = r"(; outstanding requests: .*)?"  # an acknowledgement may still be due


class Status(Case):
    def hang(self, *options, launcher=None):
        return self.start("-n", 4, *options, OPTIONS.probe, "hang", launcher=launcher)

    def read_processes(self, job, count=4):
        processes, lines = {}, 0
        while lines < count:
            line = job.stdout.readline()
            if not line:
                self.fail(job.communicate()[1])
            match = re.match(r"ready (\d+) (\d+)$", line)
            if match:
                processes[int(match[1])] = int(match[2])
                lines += 1
        return processes

    def status(self, *arguments, **more):
        done = subprocess.run([OPTIONS.tool, "status", *map(str, arguments)], text=True, capture_output=True,
                              timeout=20, env=self.environment, **more)
        return done.returncode, done.stdout, done.stderr

    def check(self, text):
        for line in LINES:
            self.assertRegex(text, re.compile(rf"^  {line}{REQUESTS}$", re.MULTILINE))

    def check_status(self, *asked):
        self.wait_until_all_wait(asked[0])
        for process in asked:
            code, out, err = self.status(process)
            self.assertEqual((code, err), (0, ""))
            self.check(out)

    def wait_until_all_wait(self, process):
        # The last rank may need a while to reach its wait on a busy machine.
        end = time.monotonic() + 2
        while time.monotonic() < end:
            text = self.status(process)[1]
            if all(re.search(line, text) for line in LINES):
                return
            time.sleep(0.05)

    def test_a_hang(self):
        """Under `grapnel run`, hydra and mpirun, all at once to save time."""
        self.environment.update(GRAPNEL_WATCHDOG_S="1", GRAPNEL_NODES="2", GRAPNEL_STATUS_SIGNAL="USR2",
                                GRAPNEL_LOG_FORMAT="full")
        others = {}
        for name, more in (("mpiexec.mpich", []), ("mpirun.openmpi", ["--oversubscribe"])):
            launcher = shutil.which(name)
            if launcher is None:
                print(f"skipped: status under {name}: it is not here", file=sys.stderr)
            else:
                others[name] = self.hang(launcher=[launcher] + more)
        processes = {name: self.read_processes(job) for name, job in others.items()}
        job = self.hang("--timeout", 3)
        ours = self.read_processes(job)
        self.check_status(job.pid, ours[0], ours[3])
        for name, other in others.items():
            with self.subTest(launcher=name):
                self.check_status(other.pid, processes[name][1])
        self.another_user_is_refused(ours[0])
        self.assertIn(f"process {ours[2]}):", self.status()[1])
        job.send_signal(signal.SIGUSR1)
        os.kill(ours[2], signal.SIGUSR2)
        self.time_limit(job, ours)
        for name, other in others.items():
            with self.subTest(launcher=name):
                os.kill(other.pid, signal.SIGTERM)
                err = other.communicate(timeout=20)[1]
                self.check(err)
                self.assertIn("has waited for more than 1 s; job of 4 ranks", err)
        self.wait_for_the_ends()
        self.remove_what_mpirun_left()

    def time_limit(self, job, ours):
        out, err = job.communicate(timeout=20)
        self.assertEqual(job.returncode, 124, out + err)
        self.assertIn("the time limit of 3 s is over", err)
        reports = re.split(r"(?m)^(?=.*job of 4 ranks on 2 nodes)", err)[1:]
        for report in reports:
            self.check(report)
        firsts = [report.splitlines()[0] for report in reports]
        stamp = rf"\d{{4}}-\d\d-\d\dT[\d:]+\.\d{{6}}Z {re.escape(socket.gethostname())} "
        by_signal = [line for line in firsts if re.match(stamp + f"{ours[2]} grapnel: rank 2 was asked by a sig", line)]
        by_watchdog = [line for line in firsts if re.match(stamp + r"\d+ grapnel: rank \d has waited for more", line)]
        by_launcher = [line for line in firsts if line.startswith("grapnel run: job of")]  # USR1, and the limit
        self.assertEqual((len(by_signal), len(by_launcher)), (1, 2), err)
        self.assertEqual(len(by_watchdog), 1, err)  # one covers the waits of all

    def another_user_is_refused(self, process):
        if os.geteuid() != 0:
            return print("skipped: another user asks: only root can be one", file=sys.stderr)
        script = (f"import os, socket, sys; os.setgid(65534); os.setuid(65534)\n"
                  f"for line in open('/proc/net/unix'):\n"
                  f"  if '@grapnel-status-' in line and '-{process}-' in line:\n"
                  f"    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.settimeout(5)\n"
                  f"    s.connect('\\0' + line.split('@')[1].strip())\n"
                  f"    try: s.send(b's'); print('answer', s.recv(4096))\n"
                  f"    except OSError: print('answer', b'')\n"
                  f"    break\n")
        done = subprocess.run([sys.executable, "-c", script], text=True, capture_output=True, timeout=20)
        self.assertEqual(done.stdout, "answer b''\n", done.stderr)

    def test_no_job(self):
        self.assertIn("is neither a rank nor the launcher", self.status(os.getpid())[2])
        code, out, err = self.status(4_194_303)
        self.assertEqual((code, out), (1, ""))
        self.assertIn("there is no process", err)
        self.assertEqual(self.status("x")[0], 2)

    def test_stopped_ranks_and_two_questions_at_once(self):
        """Rank 0 leads node 0 and its process holds that node's server; its answer is not waited for longer than a second."""
        job = self.hang("--nodes", 2)
        processes = self.read_processes(job)
        self.check_handlers(processes[1])
        time.sleep(0.3)  # they begin to wait
        for rank in (0, 2):
            os.kill(processes[rank], signal.SIGSTOP)
        command = [OPTIONS.tool, "status", str(job.pid)]
        asked = [subprocess.Popen(command, text=True, stdout=subprocess.PIPE, env=self.environment) for _ in range(2)]
        for one in asked:
            out = one.communicate(timeout=20)[0]
            self.assertEqual(one.returncode, 0)
            for rank in (0, 2):
                self.assertIn(f"  rank {rank} (process {processes[rank]}): no answer (stopped", out)
            for line in (r"rank 1 \(node 0, process \d+\): waits in lock for .* s: lock 0 of rank 0", LINES[3]):
                self.assertRegex(out, rf"  {line}{REQUESTS}\n")
        for rank in (0, 2):
            os.kill(processes[rank], signal.SIGCONT)
        self.check_status(job.pid)
        self.assertIsNone(job.poll())
        job.send_signal(signal.SIGTERM)
        job.communicate(timeout=20)

    def check_handlers(self, process):
        """None of the signals that reports may take has a handler where the environment asked for none."""
        with open(f"/proc/{process}/status") as file:
            caught = int(re.search(r"^SigCgt:\s*([0-9a-f]+)$", file.read(), re.MULTILINE)[1], 16)
        for one in ("USR1", "USR2", "ABRT", "FPE", "ILL"):
            number = getattr(signal, "SIG" + one)
            self.assertFalse(caught >> (number - 1) & 1, f"SIG{one} has a handler")

    def test_a_job_within_a_rank(self):
        job = self.start("-n", 2, OPTIONS.probe, "nest", *[OPTIONS.tool, "run", "-n", 2, OPTIONS.probe, "hang"])
        self.read_processes(job, 4)
        out = self.status(job.pid)[1]
        self.assertEqual(out.count("job of 2 ranks on 1 node,"), 2, out)
        self.assertEqual(out.count("  rank 1 "), 2, out)
        job.send_signal(signal.SIGUSR1)
        time.sleep(0.3)
        job.send_signal(signal.SIGTERM)
        self.assertEqual(job.communicate(timeout=20)[1].count("job of 2 ranks on 1 node,"), 2)

    def test_a_crash(self):
        self.environment["GRAPNEL_BACKTRACE"] = "1"
        code, _, err = self.run_job("-n", 2, "--nodes", 2, OPTIONS.probe, "crash", 1)
        self.assertEqual(code, 128 + signal.SIGSEGV)
        self.assertRegex(err, r"grapnel\[1\] error: rank 1 on host \S+ \(process \d+\) crashes by signal SIGSEGV")
        self.assertIn("the_function_that_crashes", err)
        self.assertIn("rank 1 was killed by signal 11", err)

    def test_a_job_at_work_is_not_disturbed(self):
        asked, seconds = 0, 0.6
        while asked < 3:  # beside other programs a request may take as long as a short job
            self.assertLess(seconds, 20, f"only {asked} requests in a job of {seconds / 3} s")
            asked = self.requests_of_a_job_at_work(seconds)
            seconds *= 3

    def requests_of_a_job_at_work(self, seconds):
        job = self.start("-n", 4, "--nodes", 2, OPTIONS.probe, "work", seconds)
        self.read_processes(job)
        asked = 0
        while job.poll() is None and self.status(job.pid)[0] == 0:
            asked += 1
        out, err = job.communicate(timeout=20 + seconds)
        self.assertEqual((job.returncode, out), (0, "right\n"), err)
        return asked


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("--probe", required=True)
    jobs.main(parser)
