"""This folder's sender, collector and reader over real sockets: what the tests against the real programs stand on."""

import pathlib
import tempfile

from collector import Collector
from contract import pb
from frame_store import FrameStore, SpoolFolder
from points import PointReader
from reader import read_paths
from sender import Uplink, random64
from sender_session import CLOSED, SenderSession
from stream_writer import Identity, StreamWriter
from support import PointsCase, run_sender, run_tests

DEADLINE_S = 30


class Loopback(PointsCase):
    def setUp(self):
        self.collector = self.enterContext(Collector())
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def send(self, *arguments: str) -> None:
        self.assertEqual(run_sender(self.collector.control, *arguments).wait(DEADLINE_S), 0)

    def stored(self) -> PointReader:
        reader = PointReader()
        for frame in self.collector.stored_frames():
            reader.feed(frame)
        return reader

    def test_all_points_of_a_script_arrive(self):
        self.send("--points", "5000", "--keys", "20", "--seed", "3")
        self.assert_sample(self.stored(), seed=3, points=5000, keys=20)

    def test_compressed_batches_arrive(self):
        self.send("--points", "1000", "--keys", "4", "--seed", "4", "--zstd")
        self.assert_sample(self.stored(), seed=4, points=1000, keys=4)

    def test_several_ranks_arrive_side_by_side(self):
        senders = [
            run_sender(self.collector.control, "--rank", str(rank), "--points", "400", "--keys", "4") for rank in range(3)
        ]
        self.assertEqual([sender.wait(DEADLINE_S) for sender in senders], [0, 0, 0])
        self.assertEqual(sorted({p.rank for p in self.stored().points}), [0, 1, 2])

    def test_a_spool_file_reads_like_the_stream(self):
        self.send("--points", "800", "--keys", "4", "--spool", str(self.folder / "spool"), "--frames-per-segment", "1000")
        self.assert_sample(read_paths(self.folder).reader, seed=1, points=800, keys=4)

    def test_what_a_dead_sender_left_is_delivered(self):
        identity = Identity(77, bytes(16), "p", "r")
        spool = SpoolFolder(self.folder, identity.spool_id, identity.stream_id, identity.run_id)
        writer = StreamWriter(identity, spool, keys=4, seed=1)
        for _ in range(3):
            writer.begin_segment()
            writer.log_rows(50)
        spool.close()
        with open(max(self.folder.glob("segment-*.log")), "ab") as segment:
            segment.write(b"ZZZZ\x50")
        self.send("--deliver", str(self.folder))
        self.assert_sample(self.stored(), seed=1, points=600, keys=4)
        self.assertEqual(self.stored().ends[77].status, pb.End.STATUS_CRASHED)

    def test_a_broken_session_is_mended_in_mid_stream(self):
        identity = Identity(78, bytes(16), "p", "r")
        store = FrameStore()
        writer = StreamWriter(identity, store, keys=4, seed=1)
        writer.begin_segment()
        session = SenderSession(store, 1, lambda: 1, random64)
        with Uplink(self.collector.control, session) as uplink:
            for _ in range(5):
                writer.log_rows(10)
                self.assertTrue(uplink.run_until(lambda: session.sent_seq == store.head_seq, DEADLINE_S))
                self.collector.break_session()
            writer.end()
            session.ended = True
            self.assertTrue(uplink.run_until(lambda: session.state == CLOSED, DEADLINE_S))
        self.assert_sample(self.stored(), seed=1, points=200, keys=4)
        self.assertGreater(session.sessions, 1)


if __name__ == "__main__":
    run_tests()
