"""Programs of different versions together: a minor version apart they work both ways, a major version apart the data stays where
it is until a collector comes that fits, and what a release wrote and said is opened and answered for ever.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "independent"))

from collector import Collector  # noqa: E402
from collector_session import CollectorSessions  # noqa: E402
from contract import ACK, ERROR, SYN, pb  # noqa: E402
from frame_store import FrameStore  # noqa: E402
from points import PointReader  # noqa: E402
from reader import read_paths  # noqa: E402
from sender import Uplink, random64  # noqa: E402
from sender_session import CLOSED, SPOOL_ONLY, SenderSession  # noqa: E402
from sideband_frames import decode_frame, encode_frame  # noqa: E402
from stream_writer import Identity, StreamWriter  # noqa: E402
from support import GOLDEN, PointsCase, RealCollector, binary, by_key, run_tests, sample_values  # noqa: E402

DEADLINE_S = 120
POINTS, KEYS, SEED = 400, 4, 3
LATER_FIELD = b"\xfa\x3f\x05later"  # field 1023, which no version of the contract has
LATER_CONTROL, LATER_SEQUENCED = 0x19, 0x85
DEFINITIONS_SEQ = 2
RELEASES = sorted(GOLDEN.glob("release_*"))


class SkewCase(PointsCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def tool(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [binary("sideband"), *arguments], capture_output=True, text=True, check=False, timeout=DEADLINE_S
        )

    def send(self, control: str, deadline_ms: int) -> subprocess.CompletedProcess:
        """The real sender with the sample."""
        environment = {name: os.environ[name] for name in os.environ if name == "PATH" or name.endswith("SAN_OPTIONS")}
        environment |= {"SIDEBAND_COLLECTOR": control, "SIDEBAND_RUN_ID": "skew-run"}
        environment |= {"SIDEBAND_SPOOL_DIR": str(self.folder / "spool")}
        arguments = [binary("cpp_sender"), "skew", *map(str, (POINTS, KEYS, SEED, deadline_ms))]
        return subprocess.run(
            arguments, env=environment, capture_output=True, text=True, check=False, timeout=DEADLINE_S
        )

    def assert_values_of_sample(self, reader: PointReader, seed: int) -> None:
        found = {key: points for key, points in by_key(reader.points).items() if key.startswith("sample/")}
        expected = sample_values(seed, POINTS, KEYS)
        self.assertEqual(sorted(found), sorted(expected))
        for key, values in expected.items():
            self.assert_values(key, [(p.step, p.value) for p in found[key]], [(step, value) for step, _, value in values])


class LaterWriter(StreamWriter):
    """Adds a field to each message, and a frame of an unknown type behind the definitions."""

    def _append(self, msg_type: int, message) -> None:
        self.store.append(self.store.head_seq + 1, encode_frame(msg_type, message.SerializeToString() + LATER_FIELD))
        if self.store.head_seq == DEFINITIONS_SEQ:
            leading = pb.Log(stream_id=self.identity.stream_id, seq=DEFINITIONS_SEQ + 1).SerializeToString()
            self.store.append(DEFINITIONS_SEQ + 1, encode_frame(LATER_SEQUENCED, leading + LATER_FIELD))


class LaterSession(SenderSession):
    """Speaks one version more, offers a feature, and adds a field to each message."""

    def _send(self, msg_type: int, message) -> None:
        if msg_type == SYN:
            message.max_version += 1
            message.features.append("later")
        super()._send(msg_type, type(message).FromString(message.SerializeToString() + LATER_FIELD))

    def _take_ack(self, ack, now: float) -> None:
        self.ack = ack
        super()._take_ack(ack, now)


class ALaterSender(SkewCase):
    """Of a later minor version, with the real collector and its tools."""

    def setUp(self):
        super().setUp()
        self.collector = self.enterContext(RealCollector(self.folder / "data"))
        self.store = FrameStore()
        writer = LaterWriter(Identity(77, bytes(16), "skew", "skew-run"), self.store, KEYS, SEED)
        writer.begin_segment()
        writer.log_rows(POINTS // KEYS)
        writer.end()
        self.session = LaterSession(self.store, 1, time.time_ns, random64)
        self.session.ended = True
        with Uplink(self.collector.connect, self.session) as uplink:
            self.assertTrue(uplink.run_until(lambda: self.session.state == CLOSED, DEADLINE_S), self.collector.log())

    def test_the_version_in_common_is_chosen(self):
        self.assertEqual(self.session.ack.version, 1)

    def test_a_feature_that_only_one_side_has_is_not_used(self):
        self.assertEqual(list(self.session.ack.features), [])

    def test_every_frame_is_stored_byte_for_byte(self):
        stored = [frame.bytes for frame in read_paths(self.folder / "data").reader.frames.values()]
        self.assertEqual(stored, [self.store.get(seq) for seq in range(1, self.store.head_seq + 1)])

    def test_replay_passes_every_frame_on_byte_for_byte(self):
        with RealCollector(self.folder / "second") as second:
            told = self.tool("replay", str(self.folder / "data"), "--to", second.connect)
        self.assertEqual(told.returncode, 0, told.stderr)
        frames = read_paths(self.folder / "second").reader.frames
        self.assertEqual(frames, read_paths(self.folder / "data").reader.frames)

    def test_runs_shows_what_it_understands(self):
        (run,) = json.loads(self.tool("runs", "--json", "--data-dir", str(self.folder / "data")).stdout)
        self.assertEqual((run["id"], run["state"], run["points"]), ("skew-run", "finished", POINTS))

    def test_verify_finds_it_whole(self):
        told = self.tool("verify", str(self.folder / "data" / "runs" / "skew-run"))
        self.assertEqual(told.returncode, 0, told.stdout + told.stderr)


class LaterSessions(CollectorSessions):
    """Of a later minor version: adds a field to each message, and says something unknown after ACK."""

    def __init__(self, data_endpoint: str):
        super().__init__(bytes(16), time.time_ns, random64)
        self.data_endpoint = data_endpoint
        self.errors: list = []

    def handle_control(self, peer: bytes, data: bytes) -> list[tuple[bytes, bytes]]:
        frame = decode_frame(data)
        if frame.msg_type == ERROR:
            self.errors.append(pb.ErrorReport.FromString(frame.payload))
        answers = super().handle_control(peer, data)
        if any(decode_frame(answer).msg_type == ACK for _, answer in answers):
            answers.append((peer, encode_frame(LATER_CONTROL, LATER_FIELD)))
        return answers

    @staticmethod
    def _answer(peer: bytes, msg_type: int, message) -> tuple[bytes, bytes]:
        return peer, encode_frame(msg_type, message.SerializeToString() + LATER_FIELD)


class ALaterCollector(SkewCase):
    """Of a later minor version, with the real sender."""

    def setUp(self):
        super().setUp()
        collector = Collector()
        self.sessions = collector.sessions = LaterSessions(collector.sessions.data_endpoint)
        with collector:
            self.sent = self.send(collector.connect, DEADLINE_S * 1000)
        self.reader = PointReader()
        for frame in collector.stored_frames():
            self.reader.feed(frame)

    def test_everything_is_delivered(self):
        self.assertEqual(self.sent.returncode, 0, self.sent.stderr)
        self.assert_values_of_sample(self.reader, SEED)

    def test_an_unknown_control_message_is_answered(self):
        codes = {error.code for error in self.sessions.errors}
        self.assertEqual(codes, {pb.ErrorReport.CODE_UNSUPPORTED})


class AnotherMajorVersion(SkewCase):
    def refuse(self) -> subprocess.CompletedProcess:
        """The real sender meets a collector that speaks version 2 only."""
        with Collector() as collector:
            collector.sessions.min_version = collector.sessions.max_version = 2
            return self.send(collector.connect, 1_000)

    def test_the_sender_names_both_versions_once_while_it_runs(self):
        said = [line for line in self.refuse().stderr.splitlines() if "refused by the collector at" in line]
        self.assertEqual(len(said), 1, said)
        self.assertIn("the collector speaks versions 2 to 2, the sender 1 to 1", said[0])

    def test_the_sender_says_that_its_data_stays(self):
        refused = self.refuse()
        self.assertEqual(refused.returncode, 3)
        self.assertIn(f"sideband sync '{self.folder / 'spool'}", refused.stderr)

    def test_a_fitting_collector_gets_everything_later(self):
        self.refuse()
        with RealCollector(self.folder / "data") as collector:
            told = self.tool("sync", str(self.folder / "spool"), "--to", collector.connect)
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assert_values_of_sample(read_paths(self.folder / "data").reader, SEED)

    def test_the_collector_stores_nothing_of_it(self):
        with RealCollector(self.folder / "data") as collector:
            self.refuse_sender_of_version_2(collector)
            self.assertEqual(list((self.folder / "data" / "runs").iterdir()), [])

    def test_the_collector_names_both_versions(self):
        with RealCollector(self.folder / "data") as collector:
            said = self.refuse_sender_of_version_2(collector)
        self.assertIn("the collector speaks 1 to 1, the sender 2 to 2", said)

    def refuse_sender_of_version_2(self, collector: RealCollector) -> str:
        store = FrameStore()
        StreamWriter(Identity(77, bytes(16), "skew", "skew-run"), store, KEYS, SEED).begin_segment()
        session = SenderSession(store, 1, time.time_ns, random64)
        session.min_version = session.max_version = 2
        with Uplink(collector.connect, session) as uplink:
            self.assertTrue(uplink.run_until(lambda: session.state == SPOOL_ONLY, DEADLINE_S), collector.log())
        return session.last_error.text


class EarlierReleases(SkewCase):
    """tests/golden/release_*: folders as those releases left them."""

    def setUp(self):
        super().setUp()
        self.assertTrue(RELEASES)

    def copies(self, name: str) -> Iterator[pathlib.Path]:
        """Of each release's folder `name`: opening one changes it."""
        for release in RELEASES:
            yield pathlib.Path(shutil.copytree(release / name, self.folder / release.name / name))

    def test_their_spools_are_delivered(self):
        for spool in self.copies("spool"):
            with RealCollector(spool.parent / "target") as collector:
                told = self.tool("replay", str(spool), "--to", collector.connect)
            self.assertEqual(told.returncode, 0, told.stderr)
            self.assert_values_of_sample(read_paths(spool.parent / "target").reader, 2)

    def test_runs_reads_their_data(self):
        for data in self.copies("data"):
            (run,) = json.loads(self.tool("runs", "--json", "--data-dir", str(data)).stdout)
            told = (run["id"], run["project"], run["state"], run["streams"], run["points"], run["lost_points"])
            self.assertEqual(told, ("frozen-run", "frozen", "finished", 1, POINTS, 0))

    def test_series_reads_their_data(self):
        for data in self.copies("data"):
            rows = self.tool("series", "frozen-run", "sample/000", "--csv", "--data-dir", str(data)).stdout.splitlines()
            found = [(int(step), float(value)) for step, _, value, _ in (row.split(",") for row in rows[1:])]
            expected = [(step, value) for step, _, value in sample_values(SEED, POINTS, KEYS)["sample/000"]]
            self.assertEqual(sorted(found), sorted(expected))

    def test_verify_finds_their_data_whole(self):
        for data in self.copies("data"):
            told = self.tool("verify", "--data-dir", str(data))
            self.assertEqual(told.returncode, 0, told.stdout + told.stderr)

    def test_a_collector_goes_on_in_their_data(self):
        for data in self.copies("data"):
            kept = read_paths(data).reader.frames
            with RealCollector(data) as collector:
                told = self.tool("replay", str(data), "--to", collector.connect)
                more = self.send(collector.connect, DEADLINE_S * 1000)
            self.assertIn("1 stream, 0 frames, 0 bytes sent", told.stdout)
            self.assertEqual(more.returncode, 0, more.stderr)
            self.assertLess(kept.items(), read_paths(data).reader.frames.items())


if __name__ == "__main__":
    run_tests()
