"""The real collector at the edges of the protocol: growth, noise, heartbeats, the end of the collector."""

import pathlib
import socket
import struct
import tempfile

import zmq

from contract import LOG, PING, pb
from frame_store import FrameStore
from reader import read_paths
from sample import mix
from sender import Uplink, random64
from sender_session import CLOSED, CONNECTING, SenderSession
from sideband_frames import encode_frame
from stream_writer import Identity, StreamWriter
from support import PointsCase, RealCollector, run_tests

DEADLINE_S = 60
STREAM_ID = 21


class EdgeCase(PointsCase):
    flags: tuple[str, ...] = ()

    def setUp(self):
        self.data_dir = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "data"
        self.collector = self.enterContext(RealCollector(self.data_dir, "--insecure", *self.flags))
        self.store = FrameStore()
        self.writer = StreamWriter(Identity(STREAM_ID, bytes(16), "p", "r"), self.store, keys=4, seed=1)
        self.writer.begin_segment()
        self.writer.log_rows(10)
        self.session = SenderSession(self.store, 1, lambda: 1, random64)
        self.uplink = self.enterContext(Uplink(self.collector.control, self.session))

    def wait_for(self, condition) -> None:
        self.assertTrue(self.uplink.run_until(condition, DEADLINE_S), self.collector.log())

    def wait_for_commit(self) -> None:
        self.wait_for(lambda: self.session.committed_seq == self.store.head_seq)

    def finish(self) -> None:
        self.writer.end()
        self.session.ended = True
        self.wait_for(lambda: self.session.state == CLOSED)

    def append_leading_fields(self, msg_type: int, rest: bytes) -> None:
        """A frame of which only stream_id and seq can be read."""
        seq = self.store.head_seq + 1
        self.store.append(seq, encode_frame(msg_type, b"\x09" + struct.pack("<Q", STREAM_ID) + bytes([0x10, seq]) + rest))

    def sent(self) -> list[bytes]:
        return [self.store.get(seq) for seq in range(1, self.store.head_seq + 1)]

    def stored(self) -> list[bytes]:
        return [frame.bytes for frame in read_paths(self.data_dir).reader.frames.values()]


class Growth(EdgeCase):
    def test_a_type_of_a_later_version_is_stored_byte_for_byte(self):
        self.append_leading_fields(0x85, b"\xff\xff what a later version says")
        self.finish()
        self.assertEqual(self.stored(), self.sent())

    def test_a_log_that_cannot_be_decoded_is_stored_byte_for_byte(self):
        self.append_leading_fields(LOG, b"\xff\xff\xff")
        self.finish()
        self.assertEqual(self.stored(), self.sent())

    def test_fields_of_a_later_version_are_kept(self):
        self.append_leading_fields(LOG, b"\xfa\x3f\x05later")
        self.finish()
        self.assertEqual(self.stored(), self.sent())

    def test_the_largest_frame_passes(self):
        self.append_leading_fields(0x80, bytes(262_144 - 11))
        self.finish()
        self.assertEqual(self.stored(), self.sent())


class Noise(EdgeCase):
    def test_other_protocols_on_the_ports_do_no_harm(self):
        for endpoint in (self.collector.control, self.collector.data, self.collector.tap):
            host, port = endpoint.removeprefix("tcp://").rsplit(":", 1)
            for noise in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64, b""):
                with socket.create_connection((host, int(port))) as connection:
                    connection.sendall(noise)
        self.finish()
        self.assertEqual(self.stored(), self.sent())

    def test_data_that_is_no_frame_of_a_session_does_no_harm(self):
        self.wait_for_commit()
        self.writer.log_rows(1)
        token, frame = struct.pack("<Q", self.session.token), self.store.get(self.store.head_seq)
        self.speak_data(
            [b""], [token], [token, b""], [token, b"ZZZZ"], [token, frame, b""], [token[:7], frame], [bytes(8), frame],
            [token, frame[:-1]], [token, frame + b"x"], [token, b"ZZZZ" + struct.pack("<IBI", 1 << 31, 1, 0)],
            [token, encode_frame(LOG, b"")], [token, encode_frame(PING, b"")], [token, encode_frame(0xC0, b"")],
            [token, encode_frame(LOG, pb.Log(stream_id=5, seq=9).SerializeToString())],
        )  # fmt: skip
        self.finish()
        self.assertEqual((self.stored(), self.session.sessions), (self.sent(), 1))

    def test_random_bytes_on_the_control_channel_do_no_harm(self):
        with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
            dealer.setsockopt(zmq.LINGER, 0)
            dealer.connect(self.collector.control)
            for number in range(200):
                dealer.send_multipart([struct.pack("<Q", mix(1, number, part)) * (part + 1) for part in range(number % 3 + 1)])
            # Answered in order, so whatever was sent before it has been read.
            dealer.send(encode_frame(PING, pb.Ping(token=3).SerializeToString()))
            while dealer.poll(DEADLINE_S * 1000):
                error = pb.ErrorReport.FromString(dealer.recv()[13:])
                if error.code == pb.ErrorReport.CODE_UNKNOWN_TOKEN:
                    break
            self.assertEqual(error.code, pb.ErrorReport.CODE_UNKNOWN_TOKEN)
        self.finish()
        self.assertEqual(self.stored(), self.sent())

    def speak_data(self, *messages: list[bytes]) -> None:
        """Puts messages on the data socket in front of whatever the session sends next."""
        for parts in messages:
            self.uplink.send_raw_data(parts)


class Heartbeats(EdgeCase):
    flags = ("--heartbeat-ms", "400")  # three of them are longer than a busy machine holds a process up

    def test_a_sender_that_answers_pings_stays(self):
        self.wait_for(lambda: self.session.pings_answered >= 4)
        self.finish()
        self.assertEqual((self.session.sessions, self.stored()), (1, self.sent()))


class Stopping(EdgeCase):
    def test_a_clean_stop_sends_its_senders_back_to_connecting(self):
        self.wait_for_commit()
        self.collector.ask_to_stop()
        self.wait_for(lambda: self.session.state == CONNECTING)
        # BYE may be overtaken by the end of the link; if it came, it said why.
        reasons = {bye.reason for bye in (self.session.last_bye,) if bye}
        self.assertLessEqual(reasons, {pb.Bye.REASON_STOPPING})


if __name__ == "__main__":
    run_tests()
