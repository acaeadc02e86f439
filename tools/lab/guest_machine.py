# SPDX-License-Identifier: Apache-2.0
"""A guest under qemu: one program runs in it, on the host's files. Nothing of it is left when this process has ended.

The kernel kills qemu when this process dies. Everything between the two is in memory: the initramfs is a memfd, and the
ports are pairs of sockets.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import kernel
from guest_image import archive, file
from job import SIGNALS, TIMED_OUT
from place import LabError

QEMU = "qemu-system-x86_64"
HERE = Path(__file__).resolve().parent
MOST_PROCESSORS = 4
CONSOLE_LINES = 12  # of the console, where a guest ended early
# qemu executes the string instructions byte by byte. Without them (112: rep_good), memory is cleared by plain stores.
PROCESSOR = "max,-erms,-fsrm"
# no_timer_check: where qemu gets too little of a processor, the boot's test of the timer counts no ticks, and panics.
KERNEL_LINE = ("console=ttyS0 quiet panic=-1 mitigations=off nokaslr audit=0 tsc=reliable random.trust_cpu=on "
               "rcupdate.rcu_expedited=1 clearcpuid=112 no_timer_check")


class Ports:
    """The ends of the guest's ports that this process reads."""

    NAMES = ("console", "out", "err", "end")

    def __init__(self):
        self.mine, self.guests = {}, {}
        for name in self.NAMES:
            self.mine[name], self.guests[name] = socket.socketpair()
        self.text = {"console": b"", "end": b""}
        self.shown = {"out": sys.stdout.buffer, "err": sys.stderr.buffer}

    def close_guests(self):
        for one in self.guests.values():
            one.close()

    def take(self, name):
        """Takes in what a port has. False where it was closed."""
        try:
            data = self.mine[name].recv(1 << 16)
        except ConnectionError:
            data = b""
        if not data:
            self.mine.pop(name).close()
        elif name in self.shown:
            self.shown[name].write(data)
            self.shown[name].flush()
        else:
            self.text[name] += data
        return bool(data)

    def take_all(self):
        for name in list(self.mine):
            while name in self.mine and select.select([self.mine[name]], [], [], 0)[0] and self.take(name):
                pass

    def answer(self):
        """What the guest reported of the program's end, or None."""
        line, newline, _ = self.text["end"].partition(b"\n")
        return json.loads(line) if newline else None

    def last_of_console(self):
        lines = self.text["console"].decode(errors="replace").replace("\r", "").strip().splitlines()
        return "\n".join(lines[-CONSOLE_LINES:])


class Machine:
    def __init__(self, image, order, processors, memory_mib):
        self.ports = Ports()
        self.signal = None
        self.wake, self.wake_end = socket.socketpair()
        self.wake_end.setblocking(False)
        signal.set_wakeup_fd(self.wake_end.fileno())
        for number in SIGNALS:
            signal.signal(number, lambda *_: None)
        initramfs = memory_file("guest-initramfs", first_files(order) + image.initramfs.read_bytes())
        passed = [initramfs, *(one.fileno() for one in self.ports.guests.values())]
        command = qemu_command(image, order, initramfs, self.ports, processors, memory_mib)
        self.qemu = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.PIPE, pass_fds=passed, start_new_session=True,
                                     preexec_fn=lambda: kernel.die_with_parent(signal.SIGKILL))
        self.ports.close_guests()
        os.close(initramfs)

    def run(self, limit_s):
        """Until the program has ended, a signal came, the machine ended or time is over. Answers the exit code."""
        end = time.monotonic() + limit_s
        while self.ports.answer() is None and self.ports.mine:
            ready = select.select([self.wake, *self.ports.mine.values()], [], [], max(0.0, end - time.monotonic()))[0]
            if self.wake in ready:
                self.signal = next((number for number in self.wake.recv(64) if number in SIGNALS), self.signal)
            if self.signal:
                return 128 + self.signal
            if not ready:
                print(f"lab: the guest was ended after {limit_s:g} s", file=sys.stderr)
                return TIMED_OUT
            for name in [name for name, one in self.ports.mine.items() if one in ready]:
                self.ports.take(name)
        self.ports.take_all()
        return self.code()

    def code(self):
        answer = self.ports.answer()
        if answer is None:
            self.end()
            words = self.qemu.stderr.read().decode(errors="replace").strip() or self.ports.last_of_console()
            raise LabError(f"the guest ended before the program did: {words or 'it did not say why'}")
        if "error" in answer:
            raise LabError(f"in the guest: {answer['error']}")
        return answer["code"]

    def end(self):
        self.qemu.kill()
        self.qemu.wait()
        signal.set_wakeup_fd(-1)


def memory_file(name, content):
    descriptor = os.memfd_create(name)
    with open(descriptor, "wb", closefd=False) as opened:
        opened.write(content)
    return descriptor


def first_files(order):
    """The part of the initramfs that is this run's."""
    return archive([
        file("init", (HERE / "guest_init.sh").read_bytes(), 0o755),
        file("inside.py", (HERE / "guest_inside.py").read_bytes()),
        file("order.json", json.dumps(order).encode()),
    ])


def qemu_command(image, order, initramfs, ports, processors, memory_mib):
    words = [
        QEMU, "-accel", "tcg,thread=multi,tb-size=512", "-cpu", PROCESSOR, "-machine", "q35", "-smp", str(processors),
        "-m", f"{memory_mib}M", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-nic", "none",
        "-kernel", str(image.kernel), "-initrd", f"/dev/fd/{initramfs}", "-append", KERNEL_LINE,
        "-device", "virtio-rng-pci", "-device", "virtio-serial-pci",
        "-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap",
    ]
    if order["out"]:
        folder = order["out"].replace(",", ",,")
        words += ["-virtfs", f"local,path={folder},mount_tag=out,security_model=none,multidevs=remap"]
    for name in Ports.NAMES:
        words += ["-chardev", f"socket,id={name},fd={ports.guests[name].fileno()}"]
        words += (["-serial", "chardev:console"] if name == "console" else
                  ["-device", f"virtserialport,chardev={name},name={name}"])
    return words


def own_processors():
    return min(len(os.sched_getaffinity(0)), MOST_PROCESSORS)


def run(image, order, options):
    machine = Machine(image, order, options.processors or own_processors(), options.memory)
    try:
        return machine.run(options.timeout)
    except BrokenPipeError:  # the reader of our output has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    finally:
        machine.end()
