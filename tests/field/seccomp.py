# SPDX-License-Identifier: Apache-2.0
"""A filter of system calls, as containers have one: those named are answered with an error. For preexec_fn, x86-64."""
import ctypes
import errno
import struct

NUMBERS = {"sched_setaffinity": 203, "getrandom": 318, "mbind": 237, "madvise": 28, "setpgid": 109, "mlock": 149,
           "setpriority": 141, "sched_setscheduler": 144, "memfd_create": 319, "set_mempolicy": 238, "membarrier": 324}
LOAD_NUMBER, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
REFUSE, ALLOW = 0x00050000, 0x7FFF0000
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, FILTER = 22, 38, 2


def refusing(*names, error=errno.EPERM):
    code = [(LOAD_NUMBER, 0, 0, 0)]
    for name in names:
        code += [(JUMP_IF_EQUAL, 0, 1, NUMBERS[name]), (RETURN, 0, 0, REFUSE | error)]
    code.append((RETURN, 0, 0, ALLOW))
    text = b"".join(struct.pack("HBBI", *line) for line in code)
    buffer = ctypes.create_string_buffer(text)
    program = struct.pack("HxxxxxxQ", len(code), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)

    def install(keep=buffer):
        if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, FILTER, program, 0, 0):
            raise OSError(ctypes.get_errno(), "seccomp")
        return keep

    return install
