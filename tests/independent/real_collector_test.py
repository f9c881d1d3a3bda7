"""The real collector, its log and its tap, with this folder's sender and reader."""

import csv
import io
import math
import pathlib
import subprocess
import tempfile

from contract import CONFIG, END, pb
from frame_store import FrameStore
from reader import Tap, read_paths, topic_of
from sample import same
from seal import positions_of, read_seal
from sender import Uplink, deliver, random64
from sender_session import CLOSED, SenderSession
from stream_writer import Identity, StreamWriter
from support import PointsCase, RealCollector, binary, run_sender, run_tests, sample_values

DEADLINE_S = 60


class RealCollectorCase(PointsCase):
    def setUp(self):
        self.data_dir = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "data"
        self.collector = self.enterContext(RealCollector(self.data_dir))

    def send(self, *arguments: str) -> None:
        self.assertEqual(run_sender(self.collector.connect, *arguments).wait(DEADLINE_S), 0, self.collector.log())

    def read(self):
        folder = read_paths(self.data_dir)
        self.assertEqual((folder.damage, folder.torn), ([], []))
        self.assertEqual((folder.reader.undecodable, folder.reader.unreadable_points), (0, 0))
        return folder.reader

    def series(self, key: str, *flags: str) -> list[list[str]]:
        """`sideband series latest KEY --csv`, without its header."""
        told = subprocess.run(
            [binary("sideband"), "series", "latest", key, "--csv", "--data-dir", str(self.data_dir), *flags],
            capture_output=True, text=True, check=False, timeout=DEADLINE_S,
        )  # fmt: skip
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        header, *rows = csv.reader(io.StringIO(told.stdout))
        self.assertEqual(header, ["step", "time", "value", "rank"])
        return rows


class Storing(RealCollectorCase):
    def test_the_log_holds_every_point_of_an_independent_sender(self):
        self.send("--points", "20000", "--keys", "20", "--seed", "3")
        self.assert_sample(self.read(), seed=3, points=20000, keys=20)

    def test_the_log_holds_frames_byte_for_byte(self):
        store = FrameStore()
        writer = StreamWriter(Identity(5, bytes(16), "p", "r"), store, keys=3, seed=1)
        writer.begin_segment()
        writer.log_rows(10)
        writer.end()
        sent = [store.get(seq) for seq in range(1, store.head_seq + 1)]
        session = SenderSession(store, 1, lambda: 1, random64)
        session.ended = True
        with Uplink(self.collector.connect, session) as uplink:
            self.assertTrue(uplink.run_until(lambda: session.state == CLOSED, DEADLINE_S), self.collector.log())
        self.assertEqual([frame.bytes for frame in self.read().frames.values()], sent)

    def test_compressed_batches_are_stored_and_read(self):
        self.send("--points", "4000", "--keys", "4", "--seed", "2", "--zstd")
        self.assert_sample(self.read(), seed=2, points=4000, keys=4)

    def test_ranks_of_one_run_share_its_folder(self):
        ranks = [run_sender(self.collector.connect, "--rank", str(r), "--points", "2000", "--keys", "4") for r in range(4)]
        self.assertEqual([sender.wait(DEADLINE_S) for sender in ranks], [0] * 4)
        self.assertEqual(sorted({p.rank for p in self.read().points}), [0, 1, 2, 3])
        self.assertEqual([f.name for f in (self.data_dir / "runs").iterdir()], ["independent-run"])

    def test_a_second_delivery_of_a_stream_adds_nothing(self):
        store = FrameStore()
        writer = StreamWriter(Identity(6, bytes(16), "p", "r"), store, keys=4, seed=1)
        writer.begin_segment()
        writer.log_rows(250)
        writer.end()
        for open_count in (1, 2):
            self.assertTrue(deliver(self.collector.connect, store, open_count, DEADLINE_S))
        reader = self.read()
        self.assert_sample(reader, seed=1, points=1000, keys=4)
        self.assertEqual(reader.doubles, 0)

    def test_a_clean_stop_seals_every_file_with_the_positions_of_its_streams(self):
        for rank in range(3):
            self.send("--points", "400", "--keys", "4", "--rank", str(rank))
        self.assertEqual(self.collector.stop(), 0, self.collector.log())
        last_seqs: dict[int, int] = {}
        for stream_id, seq in self.read().frames:
            last_seqs[stream_id] = max(seq, last_seqs.get(stream_id, 0))
        seals = [read_seal(path.read_bytes()) for path in sorted(self.data_dir.rglob("frames-*.log"))]
        self.assertNotIn(None, seals)
        self.assertEqual(positions_of(seals[-1]), last_seqs)

    def test_end_is_the_last_frame_of_a_stream(self):
        self.send("--points", "100", "--keys", "4")
        self.assertEqual(list(self.read().frames.values())[-1].msg_type, END)


class Series(RealCollectorCase):
    def assert_series(self, *flags: str) -> None:
        self.send("--points", "2000", "--keys", "4", "--seed", "3", *flags)
        for key, expected in sample_values(3, 2000, 4).items():
            rows = self.series(key)
            as_values = [float(value) if isinstance(expected[0][2], float) else int(value) for _, _, value, _ in rows]
            self.assertEqual([int(row[0]) for row in rows], [step for step, _, _ in expected])
            self.assertEqual([round(float(row[1]) * 1e6) for row in rows], [wall for _, wall, _ in expected])
            self.assertEqual([row[3] for row in rows], ["0"] * len(expected))
            pairs = zip(as_values, [value for _, _, value in expected])
            self.assertTrue(all(same(a, b) or (math.isnan(a) and math.isnan(b)) for a, b in pairs), key)

    def test_csv_holds_exactly_the_points_that_were_sent(self):
        self.assert_series()

    def test_csv_holds_exactly_the_points_of_compressed_batches(self):
        self.assert_series("--zstd")


class Tapping(RealCollectorCase):
    def test_a_reader_that_comes_late_gets_the_names_at_once(self):
        identity = Identity(9, bytes(16), "tap project", "tap-run")
        store = FrameStore()
        writer = StreamWriter(identity, store, keys=4, seed=1)
        writer.begin_segment()
        writer.log_rows(10)
        session = SenderSession(store, 1, lambda: 1, random64)
        with Uplink(self.collector.connect, session) as uplink:
            self.assertTrue(uplink.run_until(lambda: session.committed_seq == store.head_seq, DEADLINE_S))
            with Tap(self.collector.connect_tap, topic_of("tap project", "tap-run")) as tap:
                self.assertTrue(tap.run_until(lambda: (9, 2) in tap.reader.frames, DEADLINE_S), self.collector.log())
                writer.log_rows(10)
                uplink.run_until(lambda: session.committed_seq == store.head_seq, DEADLINE_S)
                self.assertTrue(tap.run_until(lambda: tap.reader.points, DEADLINE_S))
        self.assertEqual({p.key for p in tap.reader.points}, set(sample_values(1, 4, 4)))
        self.assertEqual(tap.reader.unreadable_points, 0)

    def test_the_topic_is_the_escaped_project_and_run(self):
        with Tap(self.collector.connect_tap) as tap:
            sender = run_sender(self.collector.connect, "--project", "a b/é", "--run-id", "r.1", "--points", "40")
            self.assertTrue(tap.run_until(lambda: tap.topics, DEADLINE_S))
            self.assertEqual(sender.wait(DEADLINE_S), 0)
        self.assertEqual(tap.topics, {b"a%20b%2F%C3%A9/r.1/"})

    def test_another_runs_topic_brings_nothing_of_this_run(self):
        with Tap(self.collector.connect_tap, topic_of("independent", "second")) as tap:
            self.send("--run-id", "first", "--points", "40")
            self.send("--run-id", "second", "--points", "40")
            self.assertTrue(tap.run_until(lambda: tap.reader.ends, DEADLINE_S))
        configs = [pb.Config.FromString(f.payload) for f in tap.reader.frames.values() if f.msg_type == CONFIG]
        self.assertEqual({config.run_id for config in configs}, {"second"})


class Crashing(RealCollectorCase):
    def test_kill_9_in_mid_stream_loses_and_doubles_nothing(self):
        store = FrameStore()
        writer = StreamWriter(Identity(11, bytes(16), "p", "r"), store, keys=8, seed=1)
        writer.begin_segment()
        session = SenderSession(store, 1, lambda: 1, random64)
        with Uplink(self.collector.connect, session) as uplink:
            for _ in range(3):
                self.log_and_send(writer, session, uplink)
                self.collector.kill()
                self.log_more(writer)
                self.collector.start()
                uplink.endpoint = self.collector.connect
                self.assertTrue(uplink.run_until(lambda: session.committed_seq == store.head_seq, DEADLINE_S))
            writer.end()
            session.ended = True
            self.assertTrue(uplink.run_until(lambda: session.state == CLOSED, DEADLINE_S), self.collector.log())
        reader = self.read()
        self.assert_sample(reader, seed=1, points=writer.points, keys=8)
        self.assertEqual(reader.doubles, 0)
        self.assertGreaterEqual(session.sessions, 4)

    def log_more(self, writer: StreamWriter) -> None:
        for _ in range(40):
            writer.log_rows(25)

    def log_and_send(self, writer: StreamWriter, session: SenderSession, uplink: Uplink) -> None:
        """Until a part of what was sent is durable and a part of it is not known to be."""
        self.log_more(writer)
        sent_before = session.sent_seq
        self.assertTrue(uplink.run_until(lambda: session.sent_seq > sent_before, DEADLINE_S), self.collector.log())

    def test_a_clean_stop_leaves_a_log_that_the_next_collector_goes_on_with(self):
        self.send("--points", "400", "--keys", "4", "--rank", "0")
        self.assertEqual(self.collector.stop(), 0, self.collector.log())
        self.collector.start()
        self.send("--points", "400", "--keys", "4", "--rank", "1")
        self.assertEqual(len(self.read().points), 800)


if __name__ == "__main__":
    run_tests()
