# SPDX-License-Identifier: Apache-2.0
"""How a job starts under `grapnel run`: what the launcher inherits, what its ranks inherit, and what they may send it.

start_test.py --tool BIN/grapnel --probe BIN/launch_probe --restart-probe BIN/launch_restart_probe [unittest arguments]
"""
import argparse
import base64
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import jobs
from jobs import OPTIONS, Case

# A rank that speaks PMI-1 by itself: ask(line) answers the server's line.
TALKER = """
import os, socket, sys, time
rank, size = int(os.environ["PMI_RANK"]), int(os.environ["PMI_SIZE"])
pipe = socket.socket(fileno=int(os.environ["PMI_FD"]))
lines = pipe.makefile("r", newline="\\n")
def send(text):
    pipe.sendall(text if isinstance(text, bytes) else text.encode())
def ask(text):
    send(text + "\\n")
    return lines.readline().rstrip("\\n")
"""


def children_of(process):
    with open(f"/proc/{process}/task/{process}/children") as file:
        return [int(child) for child in file.read().split()]


def listening_sockets():
    """Inode numbers of the TCP sockets that listen, of both families."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table) as file:
            found |= {line.split()[9] for line in file.readlines()[1:] if line.split()[3] == "0A"}
    return found


def sockets_of(process):
    links = []
    for name in os.listdir(f"/proc/{process}/fd"):
        try:
            links.append(os.readlink(f"/proc/{process}/fd/{name}"))
        except OSError:
            pass
    return {link[8:-1] for link in links if link.startswith("socket:[")}


class Inherits(Case):
    """What `grapnel run` was started with."""

    def test_an_ignored_child_signal(self):
        ignore = {"preexec_fn": lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)}
        for arguments, wanted in ((("-n", 2, "true"), 0), (("-n", 2, "--", "sh", "-c", "exit 7"), 7),
                                  (("-n", 2, "--label", "true"), 0), (("-n", 3, "--nodes", 2, OPTIONS.probe, "start"), 0)):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.run_job(*arguments, timeout=20, **ignore)[0], wanted)

    def test_blocked_signals(self):
        many = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1}
        block = {"preexec_fn": lambda: signal.pthread_sigmask(signal.SIG_BLOCK, many)}
        code, out, _ = self.run_job("-n", 3, "--nodes", 2, OPTIONS.probe, "check", timeout=20, **block)
        self.assertEqual((code, out.count("probe ok")), (0, 3))
        code, out, _ = self.run_job("--", "grep", "SigBlk", "/proc/self/status", timeout=20, **block)
        self.assertEqual((code, int(out.split()[1], 16)), (0, 0))

    def hang_up(self, before):
        job, _ = self.start_staying("sleep", 2, 1, start_new_session=True, preexec_fn=before)
        os.killpg(job.pid, signal.SIGHUP)
        try:
            job.wait(0.7)
        except subprocess.TimeoutExpired:
            pass
        return job

    def test_nohup(self):
        job = self.hang_up(lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.assertIsNone(job.poll(), "it ended by a signal that was ignored at its start")
        job.terminate()
        self.assertEqual(self.finish(job), (143, "grapnel run: ended by signal 15 (Terminated)\n"))

    def test_a_hang_up_without_nohup(self):
        self.assertEqual(self.finish(self.hang_up(None)), (129, "grapnel run: ended by signal 1 (Hangup)\n"))

    def test_closed_descriptors(self):
        for closed in jobs.CLOSED:
            for launcher in ([OPTIONS.tool, "run", "-n", "3", "--nodes", "2"],
                             [OPTIONS.tool, "run", "-n", "2", "--label"], []):
                with self.subTest(closed=closed, launcher=launcher):
                    code, out, err = self.run_job(*launcher, OPTIONS.probe, "check", launcher=jobs.closing(closed),
                                                  timeout=20)
                    self.assertEqual((code, err), (0, ""))
                    if 1 not in closed:
                        self.assertIn("probe ok", out)

    def test_information_with_closed_descriptors(self):
        for closed in jobs.CLOSED:
            with self.subTest(closed=closed):
                code, out, err = self.run_job(OPTIONS.tool, "info", launcher=jobs.closing(closed), timeout=20)
                self.assertEqual((code, err), (0, ""))
                self.assertEqual("GRAPNEL_NODES" in out, 1 not in closed)

    def test_few_descriptors(self):
        # Where the hard limit lets it, the launcher raises its own limit and leaves the ranks theirs.
        script = 'ulimit -Sn 5 && exec "$0" run -n 2 -- sh -c "ulimit -Sn"'
        code, out, err = self.run_job("-c", script, OPTIONS.tool, launcher=["sh"])
        self.assertEqual((code, out, err), (0, "5\n5\n", ""))
        for limit, words in ((5, "free descriptors (ulimit -n)"), (40, "ulimit -n")):
            with self.subTest(limit=limit):
                script = f'ulimit -n {limit} && exec "$0" run -n 60 true'
                code, _, err = self.run_job("-c", script, OPTIONS.tool, launcher=["sh"])
                self.assertEqual((code, len(err.splitlines())), (1, 1), err)
                self.assertIn(words, err)

    def test_a_process_namespace_that_sees_the_outer_processes(self):
        if os.geteuid() != 0:
            self.skipTest("a process namespace needs root")
        for arguments in (("-n", 4, "--nodes", 2, OPTIONS.probe, "check"),
                          ("-n", 2, "--", "sh", "-c", "(setsid sleep 1000 &)")):
            with self.subTest(arguments=arguments):
                code, _, err = self.run_job(*arguments, launcher=["unshare", "-pf", OPTIONS.tool, "run"])
                self.assertEqual((code, err), (0, ""))
                self.wait_for_the_ends()

    def test_stopped_and_continued_at_once(self):
        for pause_s in (0, 0.0001, 0.0003, 0.001, 0.003):
            with self.subTest(pause_s=pause_s):
                # A process group of its own, as a shell makes it.
                job = self.start("-n", 1, "sleep", 0.2, preexec_fn=lambda: os.setpgid(0, 0))
                time.sleep(0.1)
                job.send_signal(signal.SIGTSTP)
                time.sleep(pause_s)
                job.send_signal(signal.SIGCONT)
                self.assertEqual(self.finish(job, 10), (0, ""))


class Identity(Case):
    """One process at a time is a rank."""

    def launchers(self):
        yield [OPTIONS.tool, "run"]
        for name, options in (("mpirun.openmpi", ["--oversubscribe"]), ("mpiexec.mpich", [])):
            if shutil.which(name):
                yield [shutil.which(name)] + options

    def test_a_program_that_a_rank_starts(self):
        for launcher in self.launchers():
            with self.subTest(launcher=launcher):
                code, out, err = self.run_job("-n", 2, OPTIONS.probe, "nest", OPTIONS.probe, "check",
                                              launcher=launcher, timeout=20)
                self.assertEqual((code, out), (0, "probe ok rank 0 of 1 node 0 of 1 under single\n"), err)
                self.assertEqual(err.count("is a rank of a running job; this one is a job of its own"), 1, err)

    def test_a_launcher_that_a_rank_starts(self):
        for launcher in self.launchers():
            with self.subTest(launcher=launcher):
                code, out, err = self.run_job("-n", 2, OPTIONS.probe, "nest", OPTIONS.tool, "run", "-n", 3, "--nodes",
                                              2, "--", OPTIONS.probe, "check", launcher=launcher, timeout=20)
                self.assertEqual((code, out.count("probe ok")), (0, 3), out + err)

    def test_two_programs_of_one_rank_one_after_the_other(self):
        code, out, err = self.run_job("-n", 2, "--", "sh", "-c", '"$0" check && "$0" check', OPTIONS.probe, timeout=20)
        self.assertEqual((code, out.count("of 2 node 0"), err), (0, 4, ""))

    def test_two_programs_of_one_rank_at_once(self):
        script = '"$0" stay sleep & read line; "$0" check; kill $!; exit 3'
        job = self.start("-n", 1, "--", "sh", "-c", script, OPTIONS.probe, stdin=subprocess.PIPE)
        first = int(job.stdout.readline().split()[2])
        out, err = job.communicate("go\n", timeout=10)
        self.assertEqual(job.returncode, 3, err)
        self.assertIn(f"join: process {first} has joined the job as this rank already", out)

    def test_a_program_between_that_closes_descriptors(self):
        script = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"
        code, out, err = self.run_job("-n", 2, "--", sys.executable, "-c", script, OPTIONS.probe, "check", timeout=20)
        self.assertEqual(code, 99, err)  # the probe's own
        self.assertRegex(out + err, r"was started by grapnel run as one of 2, but its socket \(PMI_FD=\d+\) is not open here")
        # What needs no others is a job of its own.
        code, out, err = self.run_job("-n", 1, "--", sys.executable, "-c", script, OPTIONS.probe, "check", timeout=20)
        self.assertEqual((code, out), (0, "probe ok rank 0 of 1 node 0 of 1 under single\n"), err)


class Strangers(Case):
    def test_nobody_listens_on_a_port(self):
        job, ranks_of = self.start_staying("sleep", 3, 1)
        processes = [job.pid] + children_of(job.pid) + list(ranks_of.values())
        self.assertEqual(len(processes), 5)
        listening = listening_sockets()
        ports = {process: sockets_of(process) & listening for process in processes}
        job.terminate()
        self.finish(job)
        self.assertEqual([process for process, found in ports.items() if found], [])

    def talk(self, script, ranks=2, **more):
        return self.run_job("-n", ranks, "--", sys.executable, "-c", TALKER + script, **more)

    def test_what_is_no_request_ends_its_own_connection(self):
        for what, why in (('b"cmd=init pmi_version=1"', None), ('b"garbage\\n"', "a line that is no request"),
                          ('bytes(range(256)) + b"\\n"', "a line that is no request"),
                          ('b"x" * 20000', "a line without an end"),
                          ('b"cmd=grapnel_fence bytes=999999999\\n"', "a fence of an impossible size"),
                          ('b"cmd=barrier_in\\ncmd=barrier_in\\n"', "a request while it waits in a barrier")):
            with self.subTest(what=what):
                script = f"""
if rank == 1:
    send({what})
    time.sleep(0.1)
else:
    time.sleep(0.1)
    print(ask("cmd=get_universe_size"))
"""
                code, out, err = self.talk(script)
                self.assertEqual((code, out), (0, "cmd=universe_size size=2\n"), err)
                message = f"grapnel run: rank 1 sent its launcher {why}; its connection is closed\n" if why else ""
                self.assertEqual(err, message)

    def test_who_waits_for_a_rank_without_a_connection_is_told(self):
        script = f"""
if rank == 1:
    send("garbage\\n")
    time.sleep(20)
os.execv({OPTIONS.probe!r}, [{OPTIONS.probe!r}, "check"])
"""
        code, _, err = self.talk(script, 3, timeout=15)
        self.assertEqual((code, err.splitlines()[-1]),
                         (1, "grapnel run: rank 1 lost its connection to the launcher, and others wait for it; the job ends"))

    def test_who_waits_for_a_rank_that_has_ended_is_told(self):
        script = 'if rank == 0: ask("cmd=init pmi_version=1 pmi_subversion=1"); ask("cmd=barrier_in")\n' \
                 'else: ask("cmd=init pmi_version=1 pmi_subversion=1"); ask("cmd=finalize")'
        code, _, err = self.talk(script, timeout=15)
        self.assertEqual((code, err), (1, "grapnel run: rank 1 exited with code 0 while others wait for it; the job ends\n"))

    def test_a_request_without_end_holds_up_nobody(self):
        # Requests whose answers are not read: the launcher stops reading that rank's, and serves the others.
        script = """
if rank == 1:
    pipe.settimeout(1)
    try:
        while True: send("cmd=get_maxes\\n" * 1000)
    except OSError:
        pass
else:
    time.sleep(0.5)
    begin = time.monotonic()
    for _ in range(100): ask("cmd=get_maxes")
    print("quick" if time.monotonic() - begin < 5 else "slow")
"""
        code, out, err = self.talk(script, timeout=20)
        self.assertEqual((code, out, err), (0, "quick\n", ""))

    def test_the_words_of_an_abort_are_text_and_no_more(self):
        why = base64.urlsafe_b64encode("\x1b]0;title\x07 tab\t, line\nnext \u009b31m é".encode()).decode().rstrip("=")
        code, _, err = self.talk(f'send("cmd=abort exitcode=5 grapnel_why={why}\\n"); time.sleep(20)', 1)
        self.assertEqual(code, 5)
        self.assertEqual(err, "grapnel run: rank 0 aborted the job: ?]0;title? tab , line next ?31m é\n")


class Pmi1(Case):
    """What a program that speaks PMI-1 by itself asks (one built with MPICH does)."""

    def test_every_request(self):
        script = """
answers = [ask("cmd=init pmi_version=1 pmi_subversion=1"), ask("cmd=get_maxes"), ask("cmd=get_appnum"),
           ask("cmd=get_universe_size")]
store = ask("cmd=get_my_kvsname").split("kvsname=")[1]
answers += [ask(f"cmd=get kvsname={store} key=PMI_process_mapping"),
            ask(f"cmd=put kvsname={store} key=of_{rank} value=v{rank}"), ask("cmd=barrier_in"),
            ask(f"cmd=get kvsname={store} key=of_{1 - rank}"),
            ask(f"cmd=put kvsname={store} key=of_{1 - rank} value=forged"),
            ask(f"cmd=put kvsname=other key=k value=v"), ask(f"cmd=get kvsname={store} key=none")]
answers += [ask("mcmd=spawn\\nnprocs=1\\nexecname=true\\nendcmd"), ask("cmd=publish_name service=s port=p"),
            ask("cmd=lookup_name service=s"), ask("cmd=something_else"), ask("cmd=barrier_in"),
            ask(f"cmd=get kvsname={store} key=of_{rank}"), ask("cmd=finalize")]
if rank == 1: print("\\n".join(answers))
"""
        code, out, err = self.run_job("-n", 2, "--", sys.executable, "-c", TALKER + script)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out.splitlines(), [
            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0 grapnel=1",
            "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024", "cmd=appnum appnum=0",
            "cmd=universe_size size=2", "cmd=get_result rc=0 msg=success value=(vector,(0,1,2))",
            "cmd=put_result rc=0 msg=success", "cmd=barrier_out", "cmd=get_result rc=0 msg=success value=v0",
            "cmd=put_result rc=-1 msg=key_of_another_rank", "cmd=put_result rc=-1 msg=unknown_kvsname",
            "cmd=get_result rc=-1 msg=key_not_found value=unknown", "cmd=spawn_result rc=-1 msg=not_supported",
            "cmd=publish_result rc=-1 info=not_supported msg=not_supported",
            "cmd=lookup_result rc=-1 info=not_supported msg=not_supported",
            "cmd=something_else_result rc=-1 msg=not_supported", "cmd=barrier_out",
            "cmd=get_result rc=0 msg=success value=v1", "cmd=finalize_ack"])

    def test_an_mpi_that_does_not_finalize(self):
        script = 'ask("cmd=init pmi_version=1 pmi_subversion=1")'
        code, _, err = self.run_job("-n", 1, "--", sys.executable, "-c", TALKER + script)
        self.assertEqual((code, err), (1, "grapnel run: rank 0 exited with code 0 but did not leave the job; the job ends\n"))

    def test_a_program_of_mpich(self):
        compiler = shutil.which("mpicc.mpich")
        if compiler is None:
            self.skipTest("there is no mpicc.mpich here")
        program = os.path.join(self.folder, "program")
        text = """#include <mpi.h>
#include <stdio.h>
int main(void) { int r, n, s; MPI_Init(0, 0); MPI_Comm_rank(MPI_COMM_WORLD, &r); MPI_Comm_size(MPI_COMM_WORLD, &n);
MPI_Allreduce(&r, &s, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); printf("%d of %d: %d\\n", r, n, s); return MPI_Finalize(); }
"""
        subprocess.run([compiler, "-x", "c", "-", "-o", program], input=text, text=True, check=True, timeout=60)
        code, out, err = self.run_job("-n", 3, program)
        os.unlink(program)
        self.assertEqual((code, sorted(out.splitlines())), (0, [f"{rank} of 3: 3" for rank in range(3)]), err)


class Many(Case):
    def start_counted(self, ranks, word):
        """Requests of all ranks, requests of the rank that sent most, and what the ranks printed."""
        self.environment["GRAPNEL_LOG"] = "debug"
        code, out, err = self.run_job("-n", ranks, OPTIONS.probe, word)
        self.assertEqual(code, 0, err)
        found = re.search(r"had (\d+) requests from (\d+) ranks, (\d+) at most from one, and (\d+) fences", err)
        self.assertEqual(int(found[2]), ranks)
        return int(found[1]), int(found[3]), out

    def test_requests_grow_with_the_ranks_and_not_with_their_square(self):
        _, of_one, _ = self.start_counted(4, "start")
        self.assertLessEqual(of_one, 8)
        for ranks in (16, 64):
            self.assertEqual(self.start_counted(ranks, "start")[:2], (ranks * of_one, of_one))

    def test_descriptors_and_requests_of_the_last_of_many(self):
        of_all, of_one, out = self.start_counted(256, "descriptors")
        self.assertEqual(of_all, 256 * of_one)
        self.assertLessEqual(of_one, 8)
        rows = {int(words[1]): words for words in map(str.split, out.splitlines()) if words[0] == "descriptors"}
        self.assertEqual(len(rows), 256)
        for rank in (0, 255):
            count, sockets = int(rows[rank][2]), int(rows[rank][3])
            self.assertLessEqual(count, 40, rows[rank])
            # One is the rank's own, to the launcher; 0 to 2 are none here.
            self.assertEqual(sockets, 1, rows[rank])

    def test_what_the_user_passes_on_stays(self):
        reader, writer = os.pipe()
        os.write(writer, b"passed\n")
        os.close(writer)
        code, out, err = self.run_job("-n", 1, "--", "sh", "-c", f"cat <&{reader}" if reader < 10 else
                                      f"cat /dev/fd/{reader}", pass_fds=[reader])
        os.close(reader)
        self.assertEqual((code, out, err), (0, "passed\n", ""))


class Restarts(Case):
    def check(self, launcher, ranks, rounds, *options):
        code, out, err = self.run_job("-n", ranks, *options, OPTIONS.restart_probe, rounds, launcher=launcher)
        self.assertEqual((code, sorted(out.splitlines())), (0, [f"restarts ok {rank}" for rank in range(ranks)]), err)

    def test_under_grapnel_run(self):
        for ranks, nodes in ((1, 1), (6, 1), (6, 2)):
            with self.subTest(ranks=ranks, nodes=nodes):
                self.check(None, ranks, OPTIONS.restarts, "--nodes", nodes)

    def test_under_hydra(self):
        hydra = shutil.which("mpiexec.mpich")
        if hydra is None:
            self.skipTest("there is no mpiexec.mpich here")
        self.check([hydra], 5, OPTIONS.restarts)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--tool", required=True)
    arguments.add_argument("--probe", required=True)
    arguments.add_argument("--restart-probe", required=True)
    arguments.add_argument("--restarts", type=int, default=12, help="starts of one process; a soak takes 1000")
    jobs.main(arguments)


if __name__ == "__main__":
    main()
