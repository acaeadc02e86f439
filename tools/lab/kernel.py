# SPDX-License-Identifier: Apache-2.0
"""System calls that Python's os module does not have before 3.12, and those that it has not at all."""

import ctypes
import os

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)


def _call(name, *arguments):
    if getattr(_libc, name)(*arguments) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")


def enter_namespace(path, kind):
    with open(path, "rb") as namespace:
        _call("setns", namespace.fileno(), kind)


def unshare(kinds):
    _call("unshare", kinds)


def mount(source, target, kind=None, flags=0):
    encode = lambda text: None if text is None else os.fsencode(text)  # noqa: E731
    _call("mount", encode(source), encode(target), encode(kind), ctypes.c_ulong(flags), None)


def set_host_name(name):
    _call("sethostname", name.encode(), ctypes.c_size_t(len(name)))


def die_with_parent(signal_number):
    """The kernel sends this process the signal when its parent ends. For a parent of one thread."""
    _call("prctl", PR_SET_PDEATHSIG, ctypes.c_ulong(signal_number), 0, 0, 0)
