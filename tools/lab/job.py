# SPDX-License-Identifier: Apache-2.0
"""`lab run`: one job across the hosts, of which nothing is left when this process has ended, however it ends.

The launcher is killed by the kernel when this process dies. Each agent (the stand-in for ssh) is connected to this
process's socket, and kills its host's part of the job when the connection ends.
"""

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time

import kernel
from launchers import command_of, settings
from network import run_of
from place import identity, same_process

LEAVE_S = 5.0  # for a launcher that was asked to end
AGENTS_S = 2.0  # for the agents to end by themselves after the launcher has
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
TIMED_OUT = 124


class Job:
    def __init__(self, place, options):
        self.options = options
        self.agents = []
        self.signal = None
        started = identity(os.getpid())
        self.folder = place.runs / f"{started[0]}-{started[1]}"
        self.folder.mkdir()
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(self.folder / "socket"))
        self.listener.listen(64)
        self.wake, wake_end = socket.socketpair()
        wake_end.setblocking(False)
        self.wake_end = wake_end
        signal.set_wakeup_fd(wake_end.fileno())
        for number in SIGNALS:
            signal.signal(number, lambda *_: None)
        command = command_of(place, place.record()["hosts"], options)
        environment = dict(os.environ, **settings(place, self.folder, options.ranks))
        environment.update(pair.split("=", 1) for pair in options.env)
        environment["LAB_RUN_SOCKET"] = str(self.folder / "socket")
        # One thread here, so the launcher's parent dies only with the whole process.
        self.launcher = subprocess.Popen(command, env=environment,
                                         preexec_fn=lambda: kernel.die_with_parent(signal.SIGKILL))
        self.launcher_ended = os.pidfd_open(self.launcher.pid)

    def look(self, limit_s):
        """Takes in what happens, for at most this long or until something did."""
        ready = select.select([self.wake, self.listener, *self.agents, self.launcher_ended], [], [], limit_s)[0]
        if self.wake in ready:
            received = [number for number in self.wake.recv(64) if number in SIGNALS]
            self.signal = self.signal or (received[0] if received else None)
        if self.listener in ready:
            self.agents.append(self.listener.accept()[0])
        for agent in self.agents[:]:
            if agent in ready:  # agents say nothing: this is the end of the file
                self.agents.remove(agent)
                agent.close()

    def look_until(self, condition, limit_s):
        end = time.monotonic() + limit_s
        while not condition() and time.monotonic() < end:
            self.look(max(0.0, min(0.1, end - time.monotonic())))
        return condition()

    def launcher_is_over(self):
        return self.launcher.poll() is not None

    def run(self):
        """Until the launcher has ended, a signal came or time is over; answers the exit code."""
        limit = float("inf") if self.options.timeout is None else self.options.timeout
        if self.look_until(lambda: self.launcher_is_over() or self.signal, limit):
            if self.signal is None:
                code = self.launcher.returncode
                return 128 - code if code < 0 else code
            code = 128 + self.signal
        else:
            print(f"lab: the job was ended after {self.options.timeout:g} s", file=sys.stderr)
            code = TIMED_OUT
        # A terminal's ctrl-C reached the launcher too, and a second signal would only make it hasty.
        if self.signal != signal.SIGINT or not self.look_until(self.launcher_is_over, 1.0):
            self.launcher.terminate()
        if not self.look_until(self.launcher_is_over, LEAVE_S):
            self.launcher.kill()
            self.launcher.wait()
        return code

    def end(self):
        """Nothing of the job lives on."""
        if not self.launcher_is_over():
            self.launcher.kill()
            self.launcher.wait()
        self.look_until(lambda: not self.agents, AGENTS_S)
        for agent in self.agents:
            agent.shutdown(socket.SHUT_WR)
        if not self.look_until(lambda: not self.agents, LEAVE_S):
            print(f"lab: {len(self.agents)} hosts do not end the job (./dev lab down does)", file=sys.stderr)
        shutil.rmtree(self.folder, ignore_errors=True)


def remove_dead_runs(place):
    """Folders of runs that were killed: their processes are gone, their files are not."""
    for folder in place.runs.glob("*"):
        started = run_of(folder)
        if started is None or not same_process(started):
            shutil.rmtree(folder, ignore_errors=True)


def run(place, options):
    remove_dead_runs(place)
    job = Job(place, options)
    try:
        return job.run()
    finally:
        job.end()
