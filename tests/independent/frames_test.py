"""The codec and the scanner against bytes written out by hand and against the golden files."""

import json
import unittest

from google.protobuf import json_format

from contract import LOG, MESSAGE_OF_TYPE, NAME_OF_TYPE, SEAL, SKIP, is_sequenced, pb
from seal import positions_of, read_seal
from sideband_frames import (
    MAX_PAYLOAD_BYTES, Damage, FrameError, ScannedFrame, TornTail, decode_frame, decode_stream_seq, encode_frame, scan,
)  # fmt: skip
from points import PointReader
from support import GOLDEN, run_tests


def describe(item) -> dict:
    """A scanned item as the golden JSON lines say it, but for the words of a reason."""
    if not isinstance(item, ScannedFrame):
        return {"offset": item.offset, "damage_bytes": item.bytes, "torn": isinstance(item, TornTail)}
    frame = item.frame
    told = {
        "offset": item.offset,
        "type": NAME_OF_TYPE.get(frame.msg_type, f"0x{frame.msg_type:02X}"),
        "length": len(frame.payload),
        "checksum_ok": True,
    }
    if is_sequenced(frame.msg_type):
        stream_id, seq = decode_stream_seq(frame.payload)
        told |= {"stream_id": f"{stream_id:016x}", "seq": seq}
    return told | {"message": _message(frame)}


def _message(frame):
    try:
        message = MESSAGE_OF_TYPE[frame.msg_type].FromString(frame.payload)
    except Exception:  # an unknown type, or bytes that protobuf refuses: DecodeError has no stable home in its package
        return None
    return json_format.MessageToDict(message, preserving_proto_field_name=True)


def expected_lines(path) -> list[dict]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if "damage_bytes" in line:
            line["torn"] = line.pop("reason") == "torn tail"
    return lines


class GoldenFiles(unittest.TestCase):
    maxDiff = None

    def test_each_golden_file_scans_to_its_json(self):
        files = sorted(GOLDEN.glob("*.frames"))
        self.assertTrue(files)
        for path in files:
            with self.subTest(path.name):
                found = [describe(item) for item in scan(path.read_bytes())]
                self.assertEqual(found, expected_lines(path.with_suffix(".json")))

    def test_each_golden_frame_is_encoded_to_the_same_bytes(self):
        for path in GOLDEN.glob("*.frames"):
            for item in scan(path.read_bytes()):
                if isinstance(item, ScannedFrame):
                    self.assertEqual(encode_frame(item.frame.msg_type, item.frame.payload), item.frame.bytes)


class WorkedExample(unittest.TestCase):
    def test_docs_format_md_lists_the_points_that_this_reader_finds(self):
        reader = PointReader()
        for item in scan((GOLDEN / "format_example.frames").read_bytes()):
            reader.feed(item.frame)
        found = sorted((p.key, p.step, p.time_wall_us * 1000, repr(p.value)) for p in reader.points)
        self.assertEqual(found, sorted(self.documented_points()))

    @staticmethod
    def documented_points() -> list[tuple]:
        table = (GOLDEN.parents[1] / "docs" / "format.md").read_text().split("The points of the LOG:")[1]
        rows = [row.strip("| ").split(" | ") for row in table.split("\n\n")[1].splitlines()[2:]]
        return [(key, int(step), int(wall_ns), repr(float(value))) for key, step, _, wall_ns, value in rows]


class EdgeValues(unittest.TestCase):
    def setUp(self):
        self.reader = PointReader()
        for item in scan((GOLDEN / "edge_values.frames").read_bytes()):
            self.reader.feed(item.frame)

    def test_frames_that_cannot_be_decoded_are_counted_and_the_rest_is_read(self):
        self.assertEqual(self.reader.undecodable, 1)

    def test_every_point_that_the_last_log_counts_is_read(self):
        totals = [pb.Log.FromString(f.payload).points_total for f in self.reader.frames.values() if self.is_whole(f)]
        self.assertEqual((len(self.reader.points), self.reader.unreadable_points), (max(totals), 0))

    @staticmethod
    def is_whole(frame) -> bool:
        return frame.msg_type == LOG and _message(frame) is not None


class SealedFiles(unittest.TestCase):
    def setUp(self):
        self.data = (GOLDEN / "collector_log.frames").read_bytes()

    def test_the_seal_gives_the_position_of_each_stream(self):
        last = {}
        for item in scan(self.data):
            if is_sequenced(item.frame.msg_type):
                stream_id, seq = decode_stream_seq(item.frame.payload)
                is_skip = item.frame.msg_type == SKIP
                last[stream_id] = pb.Skip.FromString(item.frame.payload).to_seq if is_skip else seq
        self.assertEqual(positions_of(read_seal(self.data)), last)

    def test_frame_count_is_of_all_but_the_seal(self):
        frames = [item for item in scan(self.data) if item.frame.msg_type != SEAL]
        self.assertEqual({seal.frame_count for seal in read_seal(self.data)}, {len(frames)})

    def test_a_file_that_goes_on_behind_its_seal_is_not_sealed(self):
        self.assertIsNone(read_seal(self.data + encode_frame(LOG, b"")))

    def test_a_file_without_its_beginning_is_not_sealed(self):
        self.assertIsNone(read_seal(self.data[1:]))

    def test_an_open_file_is_not_sealed(self):
        self.assertIsNone(read_seal((GOLDEN / "spool_segment.frames").read_bytes()))


class Scanner(unittest.TestCase):
    def setUp(self):
        self.frames = [encode_frame(LOG, pb.Log(stream_id=7, seq=seq).SerializeToString()) for seq in (1, 2, 3)]

    def scan(self, data: bytes) -> list:
        """Seqs of frames, and damage and torn tails as they are."""
        return [
            decode_stream_seq(item.frame.payload)[1] if isinstance(item, ScannedFrame) else item for item in scan(data)
        ]

    def test_noise_between_frames_is_damage(self):
        self.assertEqual(self.scan(self.frames[0] + b"noise" + self.frames[1]), [1, Damage(24, 5), 2])

    def test_a_magic_in_noise_does_not_hide_the_next_frame(self):
        self.assertEqual(self.scan(b"ZZZZ" + self.frames[0]), [Damage(0, 4), 1])

    def test_a_lying_length_does_not_jump_over_frames(self):
        liar = b"ZZZZ" + (30).to_bytes(4, "little") + self.frames[0][8:]
        self.assertEqual(self.scan(liar + self.frames[1] + self.frames[2]), [Damage(0, 24), 2, 3])

    def test_a_frame_inside_a_damaged_payload_is_found(self):
        outer = bytearray(encode_frame(0xC0, b"x" + self.frames[0]))
        outer[9] ^= 1
        self.assertEqual(self.scan(bytes(outer)), [Damage(0, 14), 1])

    def test_every_cut_of_the_last_frame_is_a_torn_tail(self):
        for cut in range(1, len(self.frames[1])):
            self.assertEqual(self.scan(self.frames[0] + self.frames[1][:cut]), [1, TornTail(24, cut)])

    def test_every_changed_byte_is_damage_and_the_next_frame_is_found(self):
        for place in range(len(self.frames[0])):
            broken = bytearray(self.frames[0])
            broken[place] ^= 0x10
            self.assertEqual(self.scan(bytes(broken) + self.frames[1] + self.frames[2]), [Damage(0, 24), 2, 3])

    def test_an_oversize_length_is_damage_not_a_torn_tail(self):
        header = b"ZZZZ" + (MAX_PAYLOAD_BYTES + 1).to_bytes(4, "little") + bytes(5)
        self.assertEqual(self.scan(self.frames[0] + header), [1, Damage(24, 13)])


class Codec(unittest.TestCase):
    def test_bytes_behind_a_received_frame_are_refused(self):
        with self.assertRaises(FrameError):
            decode_frame(encode_frame(LOG, b"") + b"x")

    def test_the_largest_payload_passes(self):
        self.assertEqual(decode_frame(encode_frame(LOG, bytes(MAX_PAYLOAD_BYTES))).payload, bytes(MAX_PAYLOAD_BYTES))

    def test_a_larger_payload_is_refused(self):
        with self.assertRaises(FrameError):
            encode_frame(LOG, bytes(MAX_PAYLOAD_BYTES + 1))

    def test_seq_zero_is_refused(self):
        with self.assertRaises(FrameError):
            decode_stream_seq(bytes([9, 1, 2, 3, 4, 5, 6, 7, 8, 0x10, 0]))


if __name__ == "__main__":
    run_tests()
