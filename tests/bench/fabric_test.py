# SPDX-License-Identifier: Apache-2.0
"""`./dev bench fabric` without devices: which frames count, what is read of a job, the rows, and the claims held against them."""

import collections
import json
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

FOLDER = Path(__file__).resolve().parents[2] / "bench/fabric"
sys.path.append(str(FOLDER))
import fabric  # noqa: E402
import fabric_jobs  # noqa: E402
import fabric_rows  # noqa: E402
import lock_claims  # noqa: E402
import wire  # noqa: E402


def frame(opcode, port=4791, protocol=17, length=0):
    ethernet = bytes(12) + b"\x08\x00"
    ipv4 = b"\x45" + bytes(8) + bytes([protocol]) + bytes(10)
    udp = (49152).to_bytes(2, "big") + port.to_bytes(2, "big") + bytes(4)
    return ethernet + ipv4 + udp + bytes([opcode]) + bytes(23) + length.to_bytes(4, "big") + bytes(20)


def captured(*times_and_names):
    capture = wire.Capture.__new__(wire.Capture)
    capture.frames, capture.lost = list(times_and_names), 0
    return capture


class Frames(unittest.TestCase):
    def test_only_roce_has_an_opcode(self):
        self.assertEqual(wire.opcode_of(frame(0x13)), 0x13)
        self.assertEqual(wire.opcode_of(frame(0x13)[:43]), 0x13)
        for other in (frame(0x13, port=53), frame(0x13, protocol=6), frame(0x13)[:42], b""):
            self.assertIsNone(wire.opcode_of(other))
            self.assertIsNone(wire.name_of(other))

    def test_names(self):
        names = {0x00: "send", 0x04: "send", 0x05: "send", 0x06: "write", 0x0b: "write", 0x0c: "read", 0x10: "read_answer",
                 0x11: "acknowledgement", 0x12: "atomic_answer", 0x13: "compare_swap", 0x14: "fetch_add", 0x64: "opcode_0x64"}
        self.assertEqual({opcode: wire.name_of(frame(opcode)) for opcode in names}, names)

    def test_a_write_of_no_bytes_is_a_flush_and_no_message(self):
        self.assertEqual(wire.name_of(frame(0x0a)), "flush")
        self.assertEqual(wire.name_of(frame(0x0a, length=4)[:wire.FRAME_BYTES]), "write")
        frames = collections.Counter(flush=2, acknowledgement=5, send=3, atomic_answer=1, opcode_0x64=7)
        self.assertEqual(wire.messages_of(frames), 4)

    def test_frames_between_two_times_count_and_lost_ones_are_noticed(self):
        capture = captured((9, "send"), (10, "send"), (20, "write"), (21, "send"))
        self.assertEqual(capture.count(10, 20), {"send": 1, "write": 1})
        capture.lost = 1
        with self.assertRaises(wire.Lost):
            capture.count(10, 20)


MS = 10**6
# A job of two steps, as the program prints it, and what a capture saw of it.
OUTPUT = f"""\
step concurrency:1 begin_ns={1000 * MS} end_ns={2000 * MS} acquisitions=10 counted=20 target_ns=5000
time concurrency:1 lock 1000 2000 3000
time concurrency:1 unlock 100 200 300
time concurrency:1 both 1500 2500 3500
something else
step concurrency:7 begin_ns={3000 * MS} end_ns={4000 * MS} acquisitions=4 counted=8 target_ns=0 disturbed=1
time concurrency:7 both 4000 5000 6000
"""
CAPTURED = [(500 * MS, "send"), (1000 * MS, "compare_swap"), (2001 * MS, "atomic_answer"), (2500 * MS, "send"), (3500 * MS, "send"),
            (3500 * MS, "acknowledgement")]
BY_NAME = {figure.name: figure for figure in fabric_rows.FIGURES}
TICKET = next(design for design in fabric_jobs.DESIGNS if design.name == "ticket")


def measured(figure, output, frames, numbers):
    """The rows of a job that printed and sent this."""
    with mock.patch.object(fabric_jobs, "run", lambda *_: (*fabric_jobs.read(output), captured(*frames))):
        options = types.SimpleNamespace(quick=True, build=Path("build"), filter="")
        steps = [(BY_NAME[figure], number) for number in numbers]
        return {row.name: row for row in fabric_rows.measure(options, TICKET, 8, 8, steps)}


class Jobs(unittest.TestCase):
    def test_what_a_job_printed(self):
        steps, hand_overs = fabric_jobs.read(OUTPUT + "hand_over 5 9\n")
        self.assertEqual(sorted(steps), ["concurrency:1", "concurrency:7"])
        last = steps["concurrency:7"]
        self.assertEqual((last.begin_ns, last.acquisitions, last.times), (3000 * MS, 4, {"both": (4000, 5000, 6000)}))
        self.assertEqual(hand_overs, [(5, 9)])

    def test_a_node_has_a_device_and_the_target_its_progress(self):
        def rank(number, ranks_of_a_node):
            show = 'echo $UCX_NET_DEVICES $GRAPNEL_PROGRESS "$@"'
            words = ["sh", "-c", fabric_jobs.START_OF_RANK, "sh", ranks_of_a_node, "poll", "sh", "-c", show, "sh", "program"]
            done = subprocess.run(words, text=True, env={"PMI_RANK": str(number), "PATH": "/usr/bin:/bin"}, stdout=subprocess.PIPE,
                                  check=True)
            return done.stdout.split()
        self.assertEqual(rank(0, "1"), ["rxe0:1", "poll", "program"])
        self.assertEqual(rank(3, "1"), ["rxe3:1", "event", "program"])
        self.assertEqual(rank(1, "2"), ["rxe0:1", "poll", "program"])
        self.assertEqual(rank(3, "2"), ["rxe1:1", "event", "program"])

    def test_a_job_that_fails_has_its_last_words(self):
        capture = mock.MagicMock()
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(wire, "Capture", return_value=capture):
            tool = Path(folder, "bin/grapnel")
            tool.parent.mkdir()
            tool.write_text("#!/bin/sh\necho no such device >&2\nexit 3\n")
            tool.chmod(0o755)
            with self.assertRaisesRegex(fabric_jobs.Failed, "ended with 3: no such device"):
                fabric_jobs.run(Path(folder), TICKET, 2, 2, 100, ["overhead:1"])


class Rows(unittest.TestCase):
    def test_steps_become_rows(self):
        rows = measured("concurrency", OUTPUT, CAPTURED, (1, 7))
        self.assertEqual(sorted(rows), [f"fabric/concurrency/{quantity}/{n}_origins/ticket" for quantity in
                                        ("messages", "target", "time") for n in (1, 7)])
        one = rows["fabric/concurrency/time/1_origins/ticket"]
        self.assertEqual((one.value, one.low, one.high, one.runs, one.unit), (2.5, 1.5, 3.5, 10, "us"))
        # Two of the six frames are within 150 ms of the first step, one of those of the second is no message.
        self.assertEqual(rows["fabric/concurrency/messages/1_origins/ticket"].value, 0.2)
        self.assertEqual(rows["fabric/concurrency/messages/7_origins/ticket"].value, 0.25)
        self.assertIn("acknowledgement 0.25", rows["fabric/concurrency/messages/7_origins/ticket"].note)
        self.assertIn("the locks counted 2.00", rows["fabric/concurrency/messages/7_origins/ticket"].note)
        self.assertEqual(rows["fabric/concurrency/target/1_origins/ticket"].value, 0.5)
        self.assertEqual({name for name, row in rows.items() if row.disturbed}, {name for name in rows if "7_origins" in name})

    def test_parts_of_the_overhead(self):
        rows = measured("overhead", OUTPUT.replace("concurrency", "overhead"), CAPTURED, (1,))
        self.assertEqual({name.split("/")[3]: row.value for name, row in rows.items() if "/time/" in name},
                         {"lock": 2, "unlock": 0.2, "both": 2.5})

    def test_hand_overs_are_counted_between_release_and_acquisition(self):
        output = f"hand_over {100 * MS} {103 * MS}\nhand_over {200 * MS} {201 * MS}\nhand_over {300 * MS} {302 * MS}\n"
        frames = [(99 * MS, "send"), (101 * MS, "write"), (102 * MS, "acknowledgement"), (200 * MS, "write"), (301 * MS, "write")]
        rows = measured("delay", output, frames, (1,))
        self.assertEqual(rows["fabric/delay/time/hand_over/ticket"].value, 2000)
        self.assertEqual(rows["fabric/delay/messages/hand_over/ticket"].value, 1)

    def test_a_step_without_an_acquisition_fails(self):
        for figure, output, numbers in [("concurrency", OUTPUT, (1, 2)), ("delay", OUTPUT, (1,)),
                                        ("concurrency", OUTPUT.replace("acquisitions=4", "acquisitions=0"), (7,))]:
            with self.assertRaises(fabric_jobs.Failed):
                measured(figure, output, CAPTURED, numbers)

    def test_names_are_unique_and_the_filter_chooses_steps(self):
        names = [name for figure in fabric_rows.FIGURES for design in fabric_rows.designs_of(figure)
                 for number in figure.numbers for name in fabric_rows.names(figure, number, design)]
        self.assertEqual(len(names), len(set(names)))
        options = types.SimpleNamespace(quick=False, filter="7_origins/ticket")
        both = [(BY_NAME["concurrency"], 7), (BY_NAME["contended"], 7)]
        self.assertEqual(list(fabric.jobs_of(options)), [(TICKET, 8, 8, both)])
        options.filter = "without_backoff"
        self.assertEqual([steps for *_, steps in fabric.jobs_of(options)], [[(BY_NAME["contended"], n) for n in (1, 2, 4, 7)]])
        options.filter = ""
        steps = {(figure.name, number) for *_, steps in fabric.jobs_of(options) for figure, number in steps}
        self.assertEqual(steps, {(figure.name, number) for figure in fabric_rows.FIGURES for number in figure.numbers})

    def test_what_is_written_is_schema_1(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "rows.json")
            fabric_rows.write(file, list(measured("concurrency", OUTPUT, CAPTURED, (1,)).values()), {"fabric/x": "the job ended"})
            content = json.loads(file.read_text())
        self.assertEqual((content["schema"], len(content["rows"]), content["skipped"]),
                         (1, 3, [{"name": "fabric/x", "why": "the job ended"}]))
        for row in content["rows"]:
            self.assertEqual(row["scenario"], "fabric")


def rows_of(figure, quantity, step, **values):
    return [fabric_rows.Row(f"fabric/{figure}/{quantity}/{step}/{design}", value, "us", 1) for design, value in values.items()]


class Claims(unittest.TestCase):
    def judged(self, figure, rows):
        return dict(lock_claims.judged(figure, rows))

    def test_each_figure_has_claims_and_a_sentence(self):
        self.assertEqual(list(lock_claims.FIGURES), list(BY_NAME))
        for figure in BY_NAME:
            lines = list(lock_claims.sentences(figure, []))
            self.assertTrue(lines[0].startswith(f"Figure {BY_NAME[figure].number}. The paper: "), lines)
            self.assertTrue(any("not measured" in line for line in lines), lines)

    def test_the_papers_order_agrees_and_another_differs(self):
        papers = dict(test_and_set=12.8, dedicated_thread=14, mcs_by_cas=17, event_driven=40)
        self.assertEqual(set(self.judged("overhead", rows_of("overhead", "time", "both", **papers)).values()), {True})
        papers.update(event_driven=13, test_and_set=15)
        self.assertEqual(set(self.judged("overhead", rows_of("overhead", "time", "both", **papers)).values()), {True, False})

    def test_one_message_hands_an_mcs_lock_over(self):
        times = rows_of("delay", "time", "hand_over", dedicated_thread=20, event_driven=40, test_and_set=15, mcs_by_cas=9)
        messages = dict(dedicated_thread=2, event_driven=2, test_and_set=3, mcs_by_cas=1)
        self.assertEqual(set(self.judged("delay", times + rows_of("delay", "messages", "hand_over", **messages)).values()), {True})
        messages["mcs_by_cas"] = 2
        self.assertIn(False, self.judged("delay", times + rows_of("delay", "messages", "hand_over", **messages)).values())

    def test_growth_is_a_ratio_of_steps(self):
        start = rows_of("computing", "time", "0_threads", dedicated_thread=14, event_driven=40, test_and_set=13, mcs_by_cas=17)
        end = dict(dedicated_thread=90, event_driven=44, test_and_set=13, mcs_by_cas=18)
        self.assertEqual(set(self.judged("computing", start + rows_of("computing", "time", "4_threads", **end)).values()), {True})
        end.update(test_and_set=26)
        judged = self.judged("computing", start + rows_of("computing", "time", "4_threads", **end))
        self.assertEqual([text for text, holds in judged.items() if not holds], ["atomics are constant"])

    def test_a_claim_without_its_rows_is_not_judged(self):
        rows = rows_of("contended", "messages", "7_origins", test_and_set=3, test_and_set_without_backoff=9)
        self.assertEqual(self.judged("contended", rows), {
            "threads send 3": None, "test_and_set needs more without back-off": True, "mcs_by_cas grows": None})


class Mistakes(unittest.TestCase):
    def test_a_filter_without_rows_is_refused(self):
        done = subprocess.run([sys.executable, "-B", FOLDER / "fabric.py", "--build", "/", "--filter", "no such row"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no row's name holds", done.stderr)


if __name__ == "__main__":
    unittest.main()
