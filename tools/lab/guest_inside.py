# SPDX-License-Identifier: Apache-2.0
"""The first process of a guest once it has its files: makes the RDMA devices, runs the program, and reports its end.

The program's output goes to the ports `out` and `err`; how it ended goes to the port `end` as one line of JSON, after the
last byte of the output has reached the host: a write to a port returns when the host has taken it.
"""

import json
import os
import resource
import signal
import socket
import subprocess
import threading
from pathlib import Path

PORTS = Path("/sys/class/virtio-ports")
KERNEL = Path("/proc/sys/net")
FOLDER_TAG = "out"
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class GuestError(Exception):
    pass


def command(*words, lines=()):
    """Runs a command of the system, which may read lines."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={"PATH": SYSTEM_PATH},
                          input="".join(f"{line}\n" for line in lines))
    if done.returncode:
        raise GuestError(f"'{' '.join(words)}' failed: {done.stderr.strip() or done.stdout.strip()}")


def open_port(name):
    for entry in PORTS.iterdir():
        if (entry / "name").read_text().strip() == name:
            return os.open(f"/dev/{entry.name}", os.O_RDWR)
    raise GuestError(f"the guest has no port {name}")


def mount_folders(out):
    for kind, folder, options in (("devpts", "/dev/pts", "mode=620"), ("tmpfs", "/dev/shm", "mode=1777")):
        os.makedirs(folder, exist_ok=True)
        command("mount", "-t", kind, "-o", options, kind, folder)
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        if not os.path.lexists(f"/dev/{name}"):
            os.symlink(target, f"/dev/{name}")
    if out:
        os.makedirs(out, exist_ok=True)
        command("mount", "-t", "9p", "-o", "rw,trans=virtio,version=9p2000.L,msize=512000,cache=none", FOLDER_TAG, out)


def write(path, value):
    (KERNEL / path).write_text(value)


def make_devices(count):
    """rxe0 and up, each on one end of a veth pair whose other end is a port of the bridge."""
    if not count:
        return command("ip", "link", "set", "lo", "up")
    # All devices are in one network namespace: each address answers on its own interface only, and frames between two
    # of them go over the bridge.
    for name, value in (("rp_filter", "0"), ("accept_local", "1"), ("arp_ignore", "1"), ("arp_announce", "2")):
        write(f"ipv4/conf/all/{name}", value)
    write("ipv4/conf/default/rp_filter", "0")
    write("ipv6/conf/default/disable_ipv6", "1")
    links = ["link set lo up", "link add fabric type bridge", "link set fabric up"]
    for index in range(count):
        links += [
            f"link add eth{index} type veth peer name port{index}",
            f"link set port{index} master fabric up",
            f"link set eth{index} up",
            f"addr add 10.88.0.{10 + index}/24 dev eth{index} noprefixroute",
        ]
    command("ip", "-batch", "-", lines=links)
    command("rdma", "-b", "-", lines=[f"link add rxe{index} type rxe netdev eth{index}" for index in range(count)])


def relay(source, port):
    while True:
        data = os.read(source, 65536)
        if not data:
            return
        while data:
            data = data[os.write(port, data):]


def settle(order):
    socket.sethostname(order["host"])
    mount_folders(order["out"])
    hard = 1 << 20
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    make_devices(order["devices"])


def run(order, ports):
    """The program's exit code as a shell has it. Orphans are this process's children: it takes in their ends too."""
    try:
        child = subprocess.Popen(order["command"], cwd=order["folder"], env=order["environment"],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        raise GuestError(f"cannot start {order['command'][0]}: {error}") from None
    pipes = (child.stdout.fileno(), child.stderr.fileno())
    relays = [threading.Thread(target=relay, args=pair) for pair in zip(pipes, ports)]
    for one in relays:
        one.start()
    while True:
        process, status = os.wait()
        if process == child.pid:
            break
    try:
        os.kill(-1, signal.SIGKILL)  # all but this process; else an orphan would hold the pipes open
    except ProcessLookupError:
        pass
    for one in relays:
        one.join()
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


def main():
    order = json.loads(Path("/run/guest/order.json").read_text())
    end = open_port("end")
    try:
        settle(order)
        answer = {"code": run(order, (open_port("out"), open_port("err")))}
    except (GuestError, OSError) as error:
        answer = {"error": str(error)}
    os.write(end, json.dumps(answer).encode() + b"\n")
    while True:
        signal.pause()  # the host ends the machine


main()
