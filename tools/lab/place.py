# SPDX-License-Identifier: Apache-2.0
"""What a lab is called and where its things are: every name and address follows from the lab's number.

Invariants:
 1. Whatever of a lab outlives a process (interface, namespace, folder) carries the lab's prefix, `glab<number>`. So a
    lab can be found and removed without any record, after any crash.
 2. A process belongs to a lab exactly when its network namespace is that of one of the lab's hosts, or when the lab's
    record names it as the delay line.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

STATE = Path("/run/grapnel-lab")
NAMESPACES = Path("/run/netns")
SHARED_MEMORY = Path("/dev/shm")
LAST_NUMBER = 199
MOST_HOSTS = 64


class LabError(Exception):
    """What the user reads: what, where, and what to do about it."""


class Place:
    """The names of lab `number`."""

    def __init__(self, number):
        self.number = number
        self.prefix = f"glab{number}"
        self.folder = STATE / str(number)
        self.record_file = self.folder / "lab.json"
        self.runs = self.folder / "runs"
        self.subnet = f"10.77.{number}.0/24"
        self.front_device = self.prefix  # the bridge, or this machine's own port of the delay line
        self.front_address = f"10.77.{number}.1"

    def host(self, index):
        return f"{self.prefix}-h{index}"

    def address(self, index):
        return f"10.77.{self.number}.{10 + index}"

    def port(self, index):
        """The interface on this machine that leads to the host."""
        return f"{self.prefix}p{index}"

    def shared_memory(self, host):
        return SHARED_MEMORY / host

    def boot_id_file(self, host):
        return self.folder / f"{host}.boot_id"

    def hosts_file(self):
        return self.folder / "hosts"

    def record(self):
        """What `up` wrote, or None."""
        try:
            return json.loads(self.record_file.read_text())
        except (OSError, ValueError):
            return None

    def write_record(self, record):
        draft = self.record_file.with_suffix(".draft")
        draft.write_text(json.dumps(record, indent=1))
        draft.rename(self.record_file)

    def namespaces(self):
        """The lab's namespaces that exist, whoever left them."""
        return sorted(entry.name for entry in NAMESPACES.glob(f"{self.prefix}-h*"))

    def devices(self):
        """The lab's interfaces on this machine that exist."""
        pattern = re.compile(rf"{self.prefix}(p\d+)?")
        return sorted(entry.name for entry in Path("/sys/class/net").iterdir() if pattern.fullmatch(entry.name))

    def shared_memory_folders(self):
        return sorted(SHARED_MEMORY.glob(f"{self.prefix}-h*"))

    def exists(self):
        return bool(self.folder.exists() or self.namespaces() or self.devices() or self.shared_memory_folders())

    def remove_files(self):
        for folder in [*self.shared_memory_folders(), self.folder]:
            shutil.rmtree(folder, ignore_errors=True)


def place_of_host(host):
    """The lab that a host's name belongs to, or None."""
    match = re.fullmatch(r"glab(\d+)-h\d+", host)
    return Place(int(match[1])) if match else None


def known_places():
    """Every lab of which anything is there."""
    numbers = set()
    folders = [NAMESPACES, Path("/sys/class/net"), SHARED_MEMORY]
    for entry in [*STATE.glob("*"), *(entry for folder in folders for entry in folder.glob("glab*"))]:
        match = re.fullmatch(r"(?:glab)?(\d+)(?:-h\d+|p\d+)?", entry.name)
        if match:
            numbers.add(int(match[1]))
    return [Place(number) for number in sorted(numbers)]


def start_time(process):
    """When a process began, in clock ticks since boot: a number that is used again has another. None: it is gone."""
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[19])
    except (OSError, IndexError, ValueError):
        return None


def same_process(identity):
    """Whether the process that [number, start time] names still lives."""
    return bool(identity) and start_time(identity[0]) == identity[1] and state_of(identity[0]) != "Z"


def state_of(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (OSError, IndexError):
        return None


def identity(process):
    return [process, start_time(process)]


def processes_in(namespace):
    """Every process whose network namespace is this one, in whatever session, group or process namespace it is."""
    try:
        wanted = os.stat(NAMESPACES / namespace).st_ino
    except OSError:
        return []
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if os.stat(f"/proc/{name}/ns/net").st_ino == wanted:
                    found.append(int(name))
            except OSError:
                pass
    return found


def command(*words, may_fail=False):
    """Runs a command of the system; its complaint becomes the error."""
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode and not may_fail:
        raise LabError(f"'{' '.join(words)}' failed: {done.stderr.strip() or done.stdout.strip()}")
    return done
