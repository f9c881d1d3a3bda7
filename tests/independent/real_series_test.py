"""`sideband series` and this folder's reader on the same data folder: two readings of docs/format.md, section 5."""

import csv
import io
import pathlib
import subprocess
import tempfile

from contract import FILE, pb
from frame_store import FrameStore
from points import PointReader
from reader import read_paths
from sideband_frames import encode_frame
from stream_writer import Identity, StreamWriter
from support import GOLDEN, PointsCase, binary, by_key, run_tests


class SeriesCase(PointsCase):
    def setUp(self):
        self.data_dir = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def write_log(self, run_id: str, frames: bytes) -> None:
        """A collector's open segment with these frames in it."""
        header = pb.File(format_version=1, kind=pb.File.KIND_LOG, segment=1, run_id=run_id, store_id=bytes(16))
        path = self.data_dir / "runs" / run_id / "frames-000001.log"
        path.parent.mkdir(parents=True)
        path.write_bytes(encode_frame(FILE, header.SerializeToString()) + frames)

    def series(self, key: str) -> list[tuple]:
        """(step, wall µs, value, rank) as the CSV says them."""
        arguments = [binary("sideband"), "series", "latest", key, "--csv", "--data-dir", str(self.data_dir)]
        told = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=60)
        self.assertIn(told.returncode, (0, 3), told.stderr)
        header, *rows = csv.reader(io.StringIO(told.stdout))
        self.assertEqual(header, ["step", "time", "value", "rank"])
        return [(int(step), _micros(time), float(value), int(rank)) for step, time, value, rank in rows]

    def assert_same_series(self, reader: PointReader) -> None:
        """Value as float, and every NaN alike: a CSV tells no more."""
        self.assertTrue(reader.points)
        for key, points in by_key(reader.points).items():
            mine = [(p.step, p.time_wall_us, float(p.value), p.rank) for p in points]
            self.assertEqual(sorted(map(repr, self.series(key))), sorted(map(repr, mine)), key)


def _micros(time: str) -> int:
    """The decimal text of seconds, without a float in between."""
    whole, _, fraction = time.partition(".")
    sign = -1 if whole.startswith("-") else 1
    return sign * (abs(int(whole)) * 1_000_000 + int(fraction.ljust(6, "0")))


class Agreement(SeriesCase):
    def test_on_the_worked_example(self):
        self.write_log("run-1", (GOLDEN / "format_example.frames").read_bytes())
        self.assert_same_series(read_paths(self.data_dir).reader)

    def test_on_edge_values(self):
        self.write_log("run-1", (GOLDEN / "edge_values.frames").read_bytes())
        self.assert_same_series(read_paths(self.data_dir).reader)

    def test_on_two_streams_in_one_file(self):
        self.write_log("run-1", (GOLDEN / "collector_log.frames").read_bytes())
        self.assert_same_series(read_paths(self.data_dir).reader)

    def test_on_a_long_stream_with_all_kinds_of_values(self):
        store = FrameStore()
        writer = StreamWriter(Identity(5, bytes(16), "p", "r"), store, keys=8, seed=3)
        for zstd in (False, True):
            writer.zstd = zstd
            writer.begin_segment()
            writer.log_rows(700)
        writer.end()
        self.write_log("r", b"".join(store.get(seq) for seq in range(1, store.head_seq + 1)))
        self.assert_same_series(read_paths(self.data_dir).reader)


if __name__ == "__main__":
    run_tests()
