# SPDX-License-Identifier: Apache-2.0
"""`lab guest`: a program, or the tests with the label rdma, where there are RDMA devices.

Where this machine has none, that is a guest under qemu, whose kernel makes soft RoCE devices.
"""

import argparse
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import guest_image
import guest_machine
import kernel
from arguments import between, seconds, setting
from job import SIGNALS, TIMED_OUT
from launchers import ROOT
from place import LabError

SKIPPED = 77
KEPT = ROOT / "build/guest"
DEVICES = Path("/sys/class/infiniband")


class Skipped(Exception):
    """Why there can be no guest here."""


def has_devices():
    return DEVICES.is_dir() and any(DEVICES.iterdir())


def prepare():
    """What a guest boots."""
    if platform.machine() != "x86_64":
        raise Skipped(f"the guest's kernel is for x86_64, and this machine is {platform.machine()}")
    needed = {guest_machine.QEMU: "qemu-system-x86", guest_image.BUSYBOX: "busybox-static",
              guest_image.DEPMOD: "kmod", guest_image.MODPROBE: "kmod", "rdma": "iproute2"}
    missing = [package for program, package in needed.items() if not shutil.which(program)]
    if missing:
        raise Skipped(f"not installed: {', '.join(dict.fromkeys(missing))} (./dev deps guest)")
    try:
        return guest_image.image(KEPT)
    except LabError as reason:
        raise Skipped(str(reason)) from None


def order_of(options):
    """What the guest is to do: it reads no other input."""
    out = str(options.out.resolve()) if options.out else None
    environment = dict(os.environ, **dict(pair.split("=", 1) for pair in options.env))
    return {"command": options.command, "folder": os.getcwd(), "environment": environment, "out": out,
            "devices": options.devices, "host": socket.gethostname()}


def command_run(options):
    if has_devices():
        print(f"lab: without a guest: this machine has {' '.join(sorted(os.listdir(DEVICES)))}", file=sys.stderr)
        return run_here(order_of(options), options.timeout)
    try:
        image = prepare()
    except Skipped as reason:
        print(f"skipped: guest: {reason}", file=sys.stderr)
        return SKIPPED
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
    return guest_machine.run(image, order_of(options), options)


def command_test(options):
    """The tests of a build with the label rdma. ctest prints how many passed."""
    options.command = ["ctest", "--test-dir", str(options.build.resolve()), "-L", "^rdma$", "--output-on-failure",
                       "--no-tests=error", *(["-R", options.pattern] if options.pattern else [])]
    options.out, options.env = None, []
    began = time.monotonic()
    code = command_run(options)
    if code != SKIPPED:
        print(f"lab: {time.monotonic() - began:.0f} s with the guest's start, exit code {code}", file=sys.stderr)
    return code


def run_here(order, limit_s):
    """The program on this machine; its process group ends with it, and with this process."""
    for number in SIGNALS:
        signal.signal(number, lambda got, _: sys.exit(128 + got))
    try:
        child = subprocess.Popen(order["command"], env=order["environment"], stdin=subprocess.DEVNULL,
                                 start_new_session=True, preexec_fn=lambda: kernel.die_with_parent(signal.SIGKILL))
    except OSError as error:
        raise LabError(f"cannot start {order['command'][0]}: {error}") from None
    try:
        code = child.wait(limit_s)
        return 128 - code if code < 0 else code
    except subprocess.TimeoutExpired:
        print(f"lab: the program was ended after {limit_s:g} s", file=sys.stderr)
        return TIMED_OUT
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def add_commands(commands):
    top = commands.add_parser("guest", help="a guest with soft RDMA devices", description=(
        "Runs a program where there are RDMA devices: in a guest under qemu, or on this machine where it has some."))
    actions = top.add_subparsers(dest="action", required=True, metavar="run | test")
    run = actions.add_parser("run", help="run a program", description=(
        "Runs a program on this machine's files, which it cannot change. Its output and exit code come back; 124 after "
        "--timeout, 77 where there can be no guest."))
    add_limits(run)
    run.add_argument("--out", type=Path, metavar="FOLDER", help="a folder of this machine in which the program may write")
    run.add_argument("--env", action="append", type=setting, default=[], metavar="NAME=VALUE",
                     help="a variable for the program, beside this shell's")
    run.add_argument("command", nargs="+", metavar="-- PROGRAM ...")
    test = actions.add_parser("test", help="run the tests with the label rdma", description=(
        "Runs the tests with the label rdma, by ctest. Exit codes as those of run."))
    add_limits(test)
    test.add_argument("--build", type=Path, default=ROOT / "build/release", help=argparse.SUPPRESS)
    test.add_argument("pattern", nargs="?", metavar="PATTERN", help="only tests whose name matches")


def add_limits(command):
    command.add_argument("--devices", type=between(0, 64), default=2, metavar="N",
                         help="RDMA devices of the guest, rxe0 and up (2)")
    command.add_argument("--timeout", type=seconds, default=600.0, metavar="S",
                         help="seconds after which everything is ended (600)")
    command.add_argument("--processors", type=between(1, 64), metavar="N",
                         help="of the guest; otherwise as many as this process may use, 4 at most")
    command.add_argument("--memory", type=between(256, 1 << 20), default=4096, metavar="MIB", help="of the guest (4096)")


def command(options):
    return {"run": command_run, "test": command_test}[options.action](options)
