# SPDX-License-Identifier: Apache-2.0
"""Runs one command to its end or its time limit, and sees to it that nothing of it is left.

What was started is known by its process group, and by a variable in its environment: launchers give their ranks
groups of their own, but they keep the environment.
"""

import collections
import os
import selectors
import signal
import subprocess
import time
import uuid
from pathlib import Path

MARK = "OUTSIDE_TEST_MARK"
KINDNESS_S = 5.0  # from SIGTERM to SIGKILL
AFTERLIFE_S = 2.0  # in which processes of a job that is over may still end
TAIL_LINES = 40
SHARED_MEMORY = Path("/dev/shm")


class Execution:
    """What happened: exit_code (None after the limit), seconds, tail, left_processes, left_files."""

    def __init__(self, command, environment, folder, limit_s, take):
        self.mark = uuid.uuid4().hex
        self.exit_code = None
        self.left_processes = []
        self._tail = collections.deque(maxlen=TAIL_LINES)
        files = our_shared_files()
        self.process = subprocess.Popen(command, env=dict(environment, **{MARK: self.mark}), cwd=folder,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        start_new_session=True)
        begin = time.monotonic()
        try:
            self._listen(begin + limit_s, take)
            self.seconds = time.monotonic() - begin
        finally:
            self._end()
        self.left_files = sorted(our_shared_files() - files)

    @property
    def tail(self):
        return b"".join(self._tail).decode(errors="replace").splitlines()[-TAIL_LINES:]

    def _listen(self, end, take):
        """Until the program has ended. A process that it left may hold the pipe open: that does not matter here."""
        ended = os.pidfd_open(self.process.pid)
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            selector.register(ended, selectors.EVENT_READ)
            while (left := end - time.monotonic()) > 0:
                ready = {key.fileobj for key, _ in selector.select(left)}
                if self.process.stdout in ready and not self._read(take):
                    selector.unregister(self.process.stdout)
                elif ended in ready:
                    self._drain(take)
                    self.exit_code = self.process.wait()
                    break
        os.close(ended)

    def _read(self, take):
        data = os.read(self.process.stdout.fileno(), 65536)
        self._tail.extend(data.splitlines(keepends=True))
        take(data)
        return bool(data)

    def _drain(self, take):
        """What the pipe still holds."""
        os.set_blocking(self.process.stdout.fileno(), False)
        try:
            while self._read(take):
                pass
        except BlockingIOError:
            pass

    def _end(self):
        """Nothing of it goes on; what had to be killed though the program was over is remembered."""
        if self.exit_code is None:
            signal_group(self.process.pid, signal.SIGTERM)
            wait_until(lambda: self.process.poll() is not None, KINDNESS_S)
            signal_group(self.process.pid, signal.SIGKILL)
            self.process.wait()
        wait_until(lambda: not marked(self.mark), AFTERLIFE_S)
        self.left_processes = marked(self.mark)
        wait_until(self._kill_marked, KINDNESS_S)
        self.process.stdout.close()

    def _kill_marked(self):
        left = marked(self.mark)
        for process in left:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return not left


def signal_group(group, number):
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        pass


def wait_until(condition, limit_s):
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def marked(mark):
    """Every process that was started with the mark; one that has ended and waits to be collected has no environment."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                if wanted in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                    found.append(int(name))
            except OSError:
                pass
    return found


def our_shared_files():
    """Files of Grapnel in /dev/shm, and in those of a lab's hosts."""
    folders = [SHARED_MEMORY, *SHARED_MEMORY.glob("glab*-h*")]
    return {str(file) for folder in folders for file in folder.glob("*grapnel*")}
