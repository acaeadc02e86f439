# SPDX-License-Identifier: Apache-2.0
"""What another user of the machine reaches of a job of `grapnel run` with several nodes: nothing (docs/security.md).

stranger_test.py --tool BIN/grapnel --probe BIN/runtime_probe [unittest arguments]
"""
import argparse
import contextlib
import os
import pwd
import signal
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "launch"))
import jobs  # noqa: E402
from jobs import OPTIONS, Case  # noqa: E402


def knock(kind, name):
    """20 connections to one socket (or one letter), all held, with bytes sent on each: what came of them."""
    found, held = set(), []
    for _ in range(1 if kind == socket.SOCK_DGRAM else 20):
        one = socket.socket(socket.AF_UNIX, kind)
        one.settimeout(2)
        held.append(one)
        try:
            one.connect("\0" + name)
            one.send(b"x" * 64)
            if kind == socket.SOCK_DGRAM:
                found.add("unanswered")
            else:
                found.add("closed" if one.recv(1) == b"" else "answered")
        except (BrokenPipeError, ConnectionResetError, ConnectionRefusedError, PermissionError):
            found.add("closed")
        except TimeoutError:
            found.add("held")
    for one in held:
        one.close()
    return "+".join(sorted(found))


def as_user(who, act):
    """What `act` answers, a text, in a process of that user. Not of another Python: the user may not be able to read it."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(who.pw_gid)
            os.setuid(who.pw_uid)
            os.write(theirs, act().encode())
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as text:
        answer = text.read()
    os.waitpid(child, 0)
    return answer


def inodes_of(processes):
    found = set()
    for process in processes:
        try:
            for number in os.listdir(f"/proc/{process}/fd"):
                target = os.readlink(f"/proc/{process}/fd/{number}")
                if target.startswith("socket:["):
                    found.add(target[8:-1])
        except OSError:
            pass  # it, or its descriptor, is gone
    return found


def ports_of(processes):
    """Where they listen for other machines or users: TCP that listens, UDP that is bound."""
    mine, found = inodes_of(processes), []
    for table, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        try:
            with open(f"/proc/net/{table}", encoding="ascii") as lines:
                rows = [line.split() for line in list(lines)[1:]]
        except OSError:
            continue
        found += [f"{table} {row[1]}" for row in rows if row[3] == state and row[9] in mine]
    return found


def names_of(processes):
    """(type, name) of their sockets in the abstract namespace to which something may connect or send."""
    mine = inodes_of(processes)
    with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as lines:
        rows = [line.split(maxsplit=7) for line in list(lines)[1:]]
    named = [row for row in rows if len(row) == 8 and row[6] in mine and row[7].startswith("@")]
    listening = [row for row in named if int(row[3], 16) & 0x10000 or int(row[4], 16) == 2]
    return sorted({(int(row[4], 16), row[7].strip()[1:]) for row in listening})


class Strangers(Case):
    def setUp(self):
        super().setUp()
        for name in ("GRAPNEL_TRANSPORT", "UCX_TLS", "UCX_NET_DEVICES"):
            self.environment.pop(name, None)

    def processes(self, job):
        return jobs.marked_processes(self.mark) + [job.pid]

    def end(self, job, code=128 + signal.SIGTERM):
        job.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(job)[0], code)

    def test_a_job_of_several_nodes_has_no_port(self):
        job = self.start("-n", 3, "--nodes", 3, OPTIONS.probe, "stay", "barrier")
        seen = []
        while not job.stdout.readline().startswith("ready"):  # the start, too
            seen += ports_of(self.processes(job))
        for _ in range(10):
            seen += ports_of(self.processes(job))
            time.sleep(0.02)
        self.end(job)
        self.assertEqual(seen, [])

    def test_the_same_over_ucx_has_ports(self):
        # So that the test above would find one.
        self.environment["GRAPNEL_TRANSPORT"] = "ucx"
        job, _ = self.start_staying("barrier", 3, 3)
        ports = ports_of(self.processes(job))
        self.end(job)
        self.assertGreaterEqual(len(ports), 3)

    def test_another_user_is_not_let_in(self):
        if os.geteuid() != 0:
            self.skipTest("only root can be another user")
        try:
            nobody = pwd.getpwnam("nobody")
        except KeyError:
            self.skipTest("there is no user nobody here")
        job, _ = self.start_staying("barrier", 3, 3)
        names = names_of(self.processes(job))
        self.assertGreaterEqual(len([name for _, name in names if name.startswith("grapnel-")]), 3, names)
        answers = as_user(nobody, lambda: "\n".join(knock(*one) for one in names)).split()
        self.assertEqual(len(answers), len(names))
        for (_, name), answer in zip(names, answers):
            self.assertIn(answer, ("closed", "unanswered"), name)
        self.assertIsNone(job.poll())
        self.end(job)

    def test_no_name_is_left_by_kill_9(self):
        job, ranks = self.start_staying("barrier", 3, 3)
        names = names_of(self.processes(job))
        self.assertGreaterEqual(len(names), 3)
        for process in [job.pid, *ranks.values()]:
            with contextlib.suppress(ProcessLookupError):  # the others end as soon as one is gone
                os.kill(process, signal.SIGKILL)
        self.finish(job)
        with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as table:
            left = table.read()
        self.assertEqual([name for _, name in names if name in left], [])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("--probe", required=True)
    jobs.main(parser)
