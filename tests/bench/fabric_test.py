# SPDX-License-Identifier: Apache-2.0
"""Which frames are RoCE's, and by what name each opcode counts."""

import sys
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench/fabric"))
import wire  # noqa: E402


def frame(opcode, port=4791, protocol=17):
    ethernet = bytes(12) + b"\x08\x00"
    ipv4 = b"\x45" + bytes(8) + bytes([protocol]) + bytes(10)
    udp = (49152).to_bytes(2, "big") + port.to_bytes(2, "big") + bytes(4)
    return ethernet + ipv4 + udp + bytes([opcode]) + bytes(20)


class Frames(unittest.TestCase):
    def test_only_roce_has_an_opcode(self):
        self.assertEqual(wire.opcode_of(frame(0x13)), 0x13)
        self.assertEqual(wire.opcode_of(frame(0x13)[:43]), 0x13)
        for other in (frame(0x13, port=53), frame(0x13, protocol=6), frame(0x13)[:42], b""):
            self.assertIsNone(wire.opcode_of(other))

    def test_names(self):
        names = {0x00: "send", 0x04: "send", 0x05: "send", 0x06: "write", 0x0b: "write", 0x0c: "read", 0x10: "read_answer",
                 0x11: "acknowledgement", 0x12: "atomic_answer", 0x13: "compare_swap", 0x14: "fetch_add", 0x64: "opcode_0x64"}
        self.assertEqual({opcode: wire.name_of(opcode) for opcode in names}, names)


if __name__ == "__main__":
    unittest.main()
