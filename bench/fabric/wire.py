# SPDX-License-Identifier: Apache-2.0
"""Frames of RoCE v2 on an interface, with the kernel's time of each: what was on the wire between two times.

A frame: Ethernet, IPv4, UDP to port 4791, then the InfiniBand transport header, whose first byte is the opcode. In a write's only
or first frame address, key and length of the memory follow.
"""

import collections
import socket
import struct
import threading

ETH_P_IP, ROCE_PORT = 0x0800, 4791
AT_PROTOCOL, AT_PORT, AT_OPCODE, AT_WRITE_LENGTH = 23, 36, 42, 66
FRAME_BYTES = AT_WRITE_LENGTH + 4  # what is read of each
WRITE_ONLY = 0x0a
SO_TIMESTAMPNS, SO_RCVBUFFORCE = 35, 33
SOL_PACKET, PACKET_ADD_MEMBERSHIP, PACKET_STATISTICS, PACKET_MR_PROMISC = 263, 1, 6, 1
BUFFER_BYTES = 64 << 20

# Opcodes of reliable connections, by what they ask or answer.
REQUESTS = {"send": range(0x00, 0x06), "write": range(0x06, 0x0c), "read": [0x0c], "compare_swap": [0x13],
            "fetch_add": [0x14]}
ANSWERS = {"read_answer": range(0x0d, 0x11), "acknowledgement": [0x11], "atomic_answer": [0x12]}
# What the paper counts: an adapter's answer to an atomic or a read is one, its acknowledgement is none.
MESSAGES = [*REQUESTS, "read_answer", "atomic_answer"]
FLUSH = "flush"  # a write of no bytes, by which UCX learns that what was sent before it has arrived
NAMES = {opcode: name for names in (REQUESTS, ANSWERS) for name, opcodes in names.items() for opcode in opcodes}


def opcode_of(frame):
    """Of a frame, or of its first 43 bytes; None where it is none of RoCE v2."""
    if len(frame) <= AT_OPCODE or frame[AT_PROTOCOL] != socket.IPPROTO_UDP:
        return None
    is_roce = int.from_bytes(frame[AT_PORT:AT_PORT + 2], "big") == ROCE_PORT
    return frame[AT_OPCODE] if is_roce else None


def name_of(frame):
    """Of a frame, or of its beginning; None where it is none of RoCE v2."""
    opcode = opcode_of(frame)
    if opcode == WRITE_ONLY and frame[AT_WRITE_LENGTH:FRAME_BYTES] == bytes(4):
        return FLUSH
    return None if opcode is None else NAMES.get(opcode, f"opcode_{opcode:#04x}")


def messages_of(frames):
    return sum(frames[name] for name in MESSAGES)


class Lost(Exception):
    """The kernel dropped frames that were not read in time."""


class Capture:
    """`with Capture("fabric") as capture: …; capture.count(begin_ns, end_ns)` after the block."""

    def __init__(self, interface):
        self.frames = []  # (kernel's time, name)
        self.lost = 0
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_IP))
        self.socket.bind((interface, ETH_P_IP))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        # A bridge hands frames between its ports up only where it is to hear all.
        membership = struct.pack("iHH8s", socket.if_nametoindex(interface), PACKET_MR_PROMISC, 0, b"")
        self.socket.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, membership)
        self.socket.settimeout(0.2)
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.read)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()
        self.lost = struct.unpack("II", self.socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))[1]
        self.socket.close()

    def read(self):
        """Until the block has ended and no frame waits."""
        while True:
            try:
                frame, ancillary, _, _ = self.socket.recvmsg(FRAME_BYTES, 64)
            except TimeoutError:
                if self.ends.is_set():
                    return
                continue
            name = name_of(frame)
            if name is not None and ancillary:
                seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
                self.frames.append((seconds * 10**9 + nanoseconds, name))

    def count(self, begin_ns, end_ns):
        """How many frames of each name there were; others by their number."""
        if self.lost:
            raise Lost(f"{self.lost} frames were not read in time")
        return collections.Counter(name for time_ns, name in self.frames if begin_ns <= time_ns <= end_ns)

