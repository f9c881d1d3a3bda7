"""The real sender with this folder's collector, and through the real collector with this folder's reader."""

import json
import pathlib
import select
import subprocess
import tempfile
import time

from collector import Collector
from points import Point, PointReader
from reader import read_paths
from support import PointsCase, RealCollector, by_key, run_cpp_sender, run_sender, run_tests, sample_values

DEADLINE_S = 120
OWN_PREFIXES = ("sideband/", "system/")  # what a sender says of itself and of its machine


class RealSenderCase(PointsCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def start(self, control: str, points: int, keys: int, seed: int, deadline_ms: int = 60_000) -> subprocess.Popen:
        return run_cpp_sender(control, self.folder / "spool", "cpp project", "cpp-run", points, keys, seed, deadline_ms)

    def finish(self, sender: subprocess.Popen) -> dict:
        told, _ = sender.communicate(timeout=DEADLINE_S)
        self.assertEqual(sender.returncode, 0)
        return json.loads(told)

    def assert_cpp_sample(self, reader: PointReader, points: int, keys: int, seed: int) -> None:
        """Steps and values as the sample's, bit for bit; times of this test."""
        found = {key: p for key, p in by_key(reader.points).items() if not key.startswith(OWN_PREFIXES)}
        expected = sample_values(seed, points, keys)
        self.assertEqual(sorted(found), sorted(expected))
        for key, values in expected.items():
            self.assert_values(key, [(p.step, p.value) for p in found[key]], [(step, value) for step, _, value in values])
            self.assert_times(key, found[key])

    def assert_times(self, key: str, points: list[Point]) -> None:
        walls = [p.time_wall_us for p in points]
        self.assertTrue(self.started_us <= min(walls) and max(walls) <= time.time_ns() // 1000, key)

    @property
    def started_us(self) -> int:
        """When this test's folder was made, by the clock that the points carry."""
        return self.folder.stat().st_ctime_ns // 1000 - 1_000_000


class ToTheIndependentCollector(RealSenderCase):
    def send(self, points: int, keys: int, seed: int) -> tuple[PointReader, Collector, dict]:
        with Collector() as collector:
            report = self.finish(self.start(collector.connect, points, keys, seed))
            self.assertTrue(collector.wait_for(collector.has_ended))
            reader = PointReader()
            for frame in collector.stored_frames():
                reader.feed(frame)
        self.assertEqual((reader.undecodable, reader.unreadable_points), (0, 0))
        return reader, collector, report

    def test_every_point_arrives_bit_for_bit(self):
        reader, _, _ = self.send(20_000, 20, 3)
        self.assert_cpp_sample(reader, 20_000, 20, 3)

    def test_even_steps_arrive_too(self):
        reader, _, _ = self.send(4_000, 4, 2)
        self.assert_cpp_sample(reader, 4_000, 4, 2)

    def test_a_single_key_arrives(self):
        reader, _, _ = self.send(1_000, 1, 1)
        self.assert_cpp_sample(reader, 1_000, 1, 1)

    def test_times_of_a_series_never_go_back(self):
        reader, _, _ = self.send(200_000, 20, 3)
        for key, points in by_key(reader.points).items():
            times = [point.time_monotonic_us for point in points]
            self.assertEqual(times, sorted(times), key)

    def test_text_arrives_in_order(self):
        reader, _, _ = self.send(4_000, 4, 2)
        self.assertEqual(reader.texts, ["row 0 世界", "row 500 世界"])

    def test_no_bad_message_is_sent(self):
        _, collector, _ = self.send(20_000, 20, 3)
        self.assertEqual(dict(collector.sessions.counters), {})

    def test_points_total_counts_every_point(self):
        reader, _, report = self.send(4_000, 4, 2)
        (end,) = reader.ends.values()
        self.assertEqual(end.points_total, len(reader.points))
        self.assertGreaterEqual(report["points_logged"], 4_000)

    def test_config_says_who_the_stream_is(self):
        reader, _, _ = self.send(100, 1, 1)
        config = reader.config(next(iter(reader.ends)))
        self.assertEqual((config.project, config.run_id, config.rank, config.world_size), ("cpp project", "cpp-run", 0, 1))

    def test_a_broken_session_is_mended_in_mid_stream(self):
        with Collector() as collector:
            sender = self.start(collector.connect, 200_000, 20, 3)
            self.assertTrue(collector.wait_for(lambda: any(s.frames for s in collector.sessions.streams.values())))
            collector.break_session()
            self.finish(sender)
            self.assertTrue(collector.wait_for(collector.has_ended))
            reader = PointReader()
            for frame in collector.stored_frames():
                reader.feed(frame)
        self.assert_cpp_sample(reader, 200_000, 20, 3)


class ThroughTheRealCollector(RealSenderCase):
    def test_the_independent_reader_finds_every_point(self):
        with RealCollector(self.folder / "data") as collector:
            self.finish(self.start(collector.connect, 20_000, 20, 3))
            folder = read_paths(self.folder / "data")
        self.assertEqual((folder.damage, folder.torn), ([], []))
        self.assert_cpp_sample(folder.reader, 20_000, 20, 3)


class LeftBehind(RealSenderCase):
    """Spools whose sender is gone, read and delivered by this folder's programs."""

    def leave_spool(self) -> pathlib.Path:
        """A finished stream that nobody took."""
        with Collector() as collector:
            nobody = collector.connect
        sender = self.start(nobody, 2_000, 4, 3, deadline_ms=100)
        sender.communicate(timeout=DEADLINE_S)
        self.assertEqual(sender.returncode, 3)
        return self.spool_folder()

    def spool_folder(self) -> pathlib.Path:
        (folder,) = {segment.parent for segment in (self.folder / "spool").rglob("segment-*.log")}
        return folder

    def deliver(self, spool: pathlib.Path) -> PointReader:
        """Through the real collector, to the reader."""
        with RealCollector(self.folder / "data") as collector:
            sender = run_sender(collector.connect, "--deliver", str(spool))
            self.assertEqual(sender.wait(DEADLINE_S), 0, collector.log())
            return read_paths(self.folder / "data").reader

    def test_the_reader_reads_a_spool(self):
        self.assert_cpp_sample(read_paths(self.leave_spool()).reader, 2_000, 4, 3)

    def test_the_independent_sender_delivers_it(self):
        self.assert_cpp_sample(self.deliver(self.leave_spool()), 2_000, 4, 3)

    def test_after_kill_9_the_spool_holds_the_first_points_without_a_hole(self):
        with Collector() as collector:
            nobody = collector.connect
        sender = self.start(nobody, 40_000_000, 4, 3)
        self.wait_for_spool_bytes(sender, 200_000)
        sender.kill()
        sender.communicate(timeout=DEADLINE_S)
        reader = self.deliver(self.spool_folder())
        rows = len([p for p in reader.points if not p.key.startswith(OWN_PREFIXES)]) // 4
        self.assertGreater(rows, 0)
        self.assert_cpp_sample(reader, rows * 4, 4, 3)

    def wait_for_spool_bytes(self, sender, wanted: int) -> None:
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end and not select.select([sender.stdout], [], [], 0.01)[0]:
            segments = (self.folder / "spool").rglob("segment-*.log")
            if sum(segment.stat().st_size for segment in segments) >= wanted:
                return
        self.fail(f"expected {wanted} bytes in the spool of a running sender")


if __name__ == "__main__":
    run_tests()
