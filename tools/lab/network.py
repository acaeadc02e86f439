# SPDX-License-Identifier: Apache-2.0
"""Making and removing a lab: hosts, the wire between them, the delay.

Two kinds of wire:
  bridge      veth pairs to a bridge; a delay, where the kernel has netem, at the bridge's ports, so that every trip
              between two hosts crosses exactly one
  delay line  every host's interface, and one of this machine, is a TAP device of one process (delay_line.cpp), which
              keeps each frame for the time of the delay
"""

import contextlib
import fcntl
import os
import random
import select
import signal
import subprocess
import time
from pathlib import Path

import kernel
from place import (LAST_NUMBER, NAMESPACES, STATE, LabError, Place, command, identity, known_places, processes_in,
                   same_process, state_of)

DELAY_LINE = "delay line"
DELAY_LINE_MTU = 9000


def ip(*words, host=None, may_fail=False):
    return command("ip", *(["-n", host] if host else []), *[str(word) for word in words], may_fail=may_fail)


def make(place, count, delay_ns, wire, delay_line, owner):
    """Makes the lab, or leaves nothing of it. `owner`: a process that it ends with, or None."""
    check_subnet_is_free(place)
    place.runs.mkdir(parents=True)
    record = {"hosts": [], "delay_ns": delay_ns, "wire": wire, "delay_line": None, "made": time.time(),
              "owner": identity(owner) if owner else None}
    place.write_record(record)
    if owner:
        remove_after(record["owner"], place)
    try:
        for index in range(count):
            make_host(place, index)
        if wire == DELAY_LINE:
            record["delay_line"] = start_delay_line(place, count, delay_ns, delay_line)
            place.write_record(record)  # at once: a crash from here on must find the process
        else:
            make_bridge(place, count, delay_ns)
        for index in range(count):
            start_interface(place, index)
        ip("addr", "add", f"{place.front_address}/24", "dev", place.front_device)
        record["hosts"] = [{"name": place.host(i), "address": place.address(i)} for i in range(count)]
        place.hosts_file().write_text("".join(f"{a} {n}\n" for a, n in names_of(place, count)))
        place.write_record(record)
    except BaseException:
        remove(place)
        raise


def names_of(place, count):
    return [("127.0.0.1", "localhost"), *((place.address(i), place.host(i)) for i in range(count))]


def check_subnet_is_free(place):
    for line in ip("-o", "-4", "addr", "show").stdout.splitlines():
        if f" {place.front_address.rsplit('.', 1)[0]}." in line:
            raise LabError(f"addresses of {place.subnet} are in use by '{line.split()[1]}': "
                           "choose another number with --lab")


def make_host(place, index):
    host = place.host(index)
    ip("netns", "add", host)
    ip("link", "set", "lo", "up", host=host)
    # IPv6's neighbour discovery is noise that nothing here uses; a kernel without IPv6 has no such file.
    set_in_kernel(host, "ipv6/conf/all/disable_ipv6", 1)
    # Not this machine's, which may be BBR: it paces by what it has measured, now 5, now 1 GB/s on a wire of microseconds.
    set_in_kernel(host, "ipv4/tcp_congestion_control", "reno")
    place.shared_memory(host).mkdir(mode=0o1777)
    place.shared_memory(host).chmod(0o1777)
    words = [random.getrandbits(bits) for bits in (32, 16, 16, 16, 48)]
    place.boot_id_file(host).write_text("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}\n".format(*words))


def set_in_kernel(host, name, value):
    """A lab without it works, too: a container may have /proc/sys read-only."""
    command("ip", "netns", "exec", host, "sh", "-c", f"echo {value} >/proc/sys/net/{name}", may_fail=True)


def make_bridge(place, count, delay_ns):
    ip("link", "add", place.front_device, "type", "bridge")
    ip("link", "set", place.front_device, "up")
    for index in range(count):
        port = place.port(index)
        ip("link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", place.host(index))
        ip("link", "set", port, "master", place.front_device, "up")
        if delay_ns:
            delay = f"{delay_ns}ns"
            command("tc", "qdisc", "add", "dev", port, "root", "netem", "delay", delay, "limit", "100000")


def start_delay_line(place, count, delay_ns, program):
    """Starts the process, waits until its devices are there, and hands each host its own."""
    ports = [place.port(index) for index in range(count)]
    log = open(place.folder / "delay-line.log", "w", encoding="utf-8")
    arguments = [program, str(delay_ns), place.front_device, *ports]
    try:
        line = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True,
                                start_new_session=True, cwd="/")
    except OSError as error:
        raise LabError(f"cannot start the delay line {program}: {error.strerror}") from error
    finally:
        log.close()
    with line.stdout:
        if line.stdout.readline() != "ready\n":
            line.wait()
            raise LabError(f"the delay line did not start: {(place.folder / 'delay-line.log').read_text().strip()}")
    started = identity(line.pid)
    try:
        for index, port in enumerate(ports):
            ip("link", "set", port, "netns", place.host(index), "name", "eth0")
            set_up_tap("eth0", host=place.host(index))
        set_up_tap(place.front_device)
        ip("link", "set", place.front_device, "up")
    except LabError:
        end_process(started)
        raise
    return started


def set_up_tap(device, host=None):
    ip("link", "set", device, "mtu", DELAY_LINE_MTU, "txqueuelen", 10000, host=host)


def start_interface(place, index):
    host = place.host(index)
    ip("addr", "add", f"{place.address(index)}/24", "dev", "eth0", host=host)
    ip("link", "set", "eth0", "up", host=host)


def kernel_has_netem():
    """Asked by trying, on a pair of interfaces that goes at once."""
    name = f"glabt{os.getpid() % 1000000}"
    if ip("link", "add", name, "type", "veth", "peer", "name", f"{name}x", may_fail=True).returncode:
        return False
    try:
        words = ("tc", "qdisc", "add", "dev", name, "root", "netem", "delay", "1ms")
        return command(*words, may_fail=True).returncode == 0
    finally:
        ip("link", "del", name, may_fail=True)


def end_process(started):
    if same_process(started):
        os.kill(started[0], signal.SIGKILL)
        wait_until(lambda: not same_process(started))


def wait_until(condition, limit_s=5.0):
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def kill_hosts_processes(place):
    """Every process in the lab's hosts, again and again until there is none: one may fork while we look."""

    def none_left():
        left = [pid for host in place.namespaces() for pid in processes_in(host) if state_of(pid) not in ("Z", None)]
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return not left

    if not wait_until(none_left, 10):
        raise LabError(f"processes of {place.prefix} do not end although they were killed (./dev lab status)")


def end_runs(place):
    """`lab run` and whoever else waits for this lab's hosts."""
    runs = [run_of(entry) for entry in place.runs.glob("*")]
    for started in runs:
        if same_process(started):
            os.kill(started[0], signal.SIGTERM)
    for started in runs:
        wait_until(lambda started=started: not same_process(started), 8)
        end_process(started)


def run_of(folder):
    """The process that a run's folder is named after: NUMBER-STARTTIME."""
    number, _, begun = folder.name.partition("-")
    return [int(number), int(begun)] if number.isdigit() and begun.isdigit() else None


@contextlib.contextmanager
def one_at_a_time():
    """Two that remove the same lab would find things gone between a look and a call."""
    STATE.mkdir(mode=0o755, exist_ok=True)
    folder = os.open(STATE, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def remove(place, owner=None):
    """Everything of the lab, found by its names. What is not there is no error. With `owner` only while the lab is its."""
    with one_at_a_time():
        record = place.record() or {}
        if owner and record.get("owner") != owner:
            return
        end_runs(place)
        kill_hosts_processes(place)
        end_process(record.get("delay_line"))
        for host in place.namespaces():
            ip("netns", "del", host)
        for device in place.devices():
            ip("link", "del", device, may_fail=True)  # the other end of a pair goes with the first
        left = [device for device in place.devices() if Path("/sys/class/net", device).exists()]
        if left or place.namespaces():
            raise LabError(f"could not remove {' '.join([*left, *place.namespaces()])}")
        place.remove_files()


def remove_after(owner, place):
    """Leaves a process that removes the lab when its owner ends, be it by kill -9. It is no child of the caller."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork():
            return
        os.chdir("/")
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in range(3):
            os.dup2(nothing, standard)  # a reader of the caller's output waits for its end
        with contextlib.suppress(ProcessLookupError):
            select.select([os.pidfd_open(owner[0])], [], [])
        remove(place, owner)
    finally:
        os._exit(0)


def remove_orphans():
    """Labs whose owner has ended, where the process that was to remove them was killed, too."""
    for place in known_places():
        owner = (place.record() or {}).get("owner")
        if owner and not same_process(owner):
            remove(place, owner)


def free_place():
    """A number that nobody has; its folder is made, which takes it."""
    STATE.mkdir(mode=0o755, exist_ok=True)
    for number in range(1, LAST_NUMBER + 1):
        place = Place(number)
        if place.exists():
            continue
        try:
            place.folder.mkdir()
        except FileExistsError:
            continue
        return place
    raise LabError(f"all {LAST_NUMBER} numbers of labs are taken (./dev lab status; ./dev lab down --all)")


def check_permitted():
    """Root, and namespaces: said before anything is made."""
    if os.geteuid() != 0:
        raise LabError("a lab needs root: network namespaces, bridges and TAP devices (run it as root or with sudo)")
    for program in ("ip", "tc"):
        if not any(os.access(os.path.join(folder, program), os.X_OK) for folder in program_folders()):
            raise LabError(f"'{program}' is missing (./dev deps lab)")
    child = os.fork()
    if child == 0:
        os._exit(try_namespaces())
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        raise LabError("this system does not permit network, mount, host name and process namespaces even to root "
                       f"({os.strerror(status)}): in a container, start it privileged")


def program_folders():
    return [*os.environ.get("PATH", "").split(":"), "/usr/sbin", "/sbin"]


def try_namespaces():
    try:
        kernel.unshare(kernel.CLONE_NEWNET | kernel.CLONE_NEWNS | kernel.CLONE_NEWUTS | kernel.CLONE_NEWPID)
        kernel.mount(None, "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
        kernel.mount("sysfs", "/sys", "sysfs")
    except OSError as error:
        return error.errno
    return 0
