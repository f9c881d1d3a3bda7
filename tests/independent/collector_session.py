"""The collector's side of docs/protocol.md without sockets and disk: handshakes, credit, the expected seq, COMMIT.

Inputs are the methods; each returns the answers as (peer, frame). "Stable storage" is a list in memory: frames move
there in commit(), so a test decides when something is durable. No timers: sessions never go stale here.
"""

import collections
import dataclasses
import re
import struct
from collections.abc import Callable

from contract import (
    ACK, BYE, COMMIT, CONFIG, CREDIT, END, ERROR, FIN, MESSAGE_OF_TYPE, PING, PONG, SKIP, SYN, is_sequenced, pb,
)  # fmt: skip
from sideband_frames import MAX_PAYLOAD_BYTES, Frame, FrameError, decode_frame, decode_stream_seq, encode_frame

PROTOCOL_VERSION = 1
CREDIT_FRAMES = 1024
CREDIT_BYTES = 4 << 20
RUN_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}\Z")

Answers = list[tuple[bytes, bytes]]


@dataclasses.dataclass
class Stream:
    spool_id: bytes
    expected: int = 1
    durable: int = 0
    frames: list[Frame] = dataclasses.field(default_factory=list)
    ended: bool = False


@dataclasses.dataclass
class Session:
    token: int
    peer: bytes
    stream_id: int
    active: bool = False
    received_bytes: int = 0
    final_seq: int = 0  # of FIN; 0: none came


class CollectorSessions:
    """All streams and sessions of one collector. `wall_ns` and `random64` are given, so that a transcript can fix them."""

    def __init__(self, store_id: bytes, wall_ns: Callable[[], int], random64: Callable[[], int]):
        self.store_id, self.wall_ns, self.random64 = store_id, wall_ns, random64
        self.data_endpoint = ""
        self.heartbeat_ms = 30_000
        self.min_version = self.max_version = PROTOCOL_VERSION
        self.streams: dict[int, Stream] = {}
        self.sessions: dict[int, Session] = {}  # by token
        self.configs: dict[int, object] = {}  # by stream id: the copy that came over DEALER
        self.counters = collections.Counter()
        self._opened: dict[bytes, tuple[int, int]] = {}  # by spool id: open_count, open_nonce

    def handle_control(self, peer: bytes, data: bytes) -> Answers:
        try:
            frame = decode_frame(data)
        except FrameError as error:
            return [self._error(peer, pb.ErrorReport.CODE_BAD_FRAME, str(error))]
        handler = {SYN: self._take_syn, CONFIG: self._take_config, PING: self._take_ping, PONG: self._take_nothing,
                   FIN: self._take_fin, BYE: self._take_bye, ERROR: self._take_nothing}.get(frame.msg_type)  # fmt: skip
        if handler is None:
            if frame.msg_type >= 0xC0:
                return []
            return [self._error(peer, pb.ErrorReport.CODE_UNSUPPORTED, f"message type {frame.msg_type:#04x}")]
        return handler(peer, MESSAGE_OF_TYPE[frame.msg_type].FromString(frame.payload))

    def handle_data(self, parts: list[bytes]) -> Answers:
        """A data message; a bad one is only counted."""
        if len(parts) != 2 or len(parts[0]) != 8:
            return self._count("wrong number of parts")
        session = self.sessions.get(struct.unpack("<Q", parts[0])[0])
        if session is None:
            return self._count("unknown token")
        try:
            frame = decode_frame(parts[1])
            stream_id, seq = decode_stream_seq(frame.payload)
        except FrameError:
            return self._count("bad frame")
        if not is_sequenced(frame.msg_type):
            return self._count("unknown type")
        if stream_id != session.stream_id:
            return self._count("wrong stream")
        session.received_bytes += len(frame.bytes)
        return self._take_sequenced(session, frame, seq)

    def commit(self) -> Answers:
        """Everything that was stored so far is durable."""
        answers = []
        for session in list(self.sessions.values()):
            stream = self.streams[session.stream_id]
            if stream.durable < stream.expected - 1:
                stream.durable = stream.expected - 1
                answers.append(self._answer(session.peer, COMMIT, pb.Commit(
                    token=session.token, seq=stream.durable, store_id=self.store_id, credit=self._credit(session),
                )))  # fmt: skip
            answers += self._finish_if_durable(session)
        return answers

    def void_sessions(self, text: str) -> Answers:
        """As after a failed sync: what is not durable is forgotten and comes again."""
        answers = []
        for session in list(self.sessions.values()):
            stream = self.streams[session.stream_id]
            stream.frames = [f for f in stream.frames if decode_stream_seq(f.payload)[1] <= stream.durable]
            stream.expected = stream.durable + 1
            answers += self._resync(session, text)
        return answers

    def _take_syn(self, peer: bytes, syn) -> Answers:
        codes = pb.ErrorReport
        if syn.max_version < self.min_version or syn.min_version > self.max_version:
            text = (f"the collector speaks versions {self.min_version} to {self.max_version}, "
                    f"the sender {syn.min_version} to {syn.max_version}")  # fmt: skip
            return [self._error(peer, codes.CODE_VERSION, text, fatal=True, syn_nonce=syn.syn_nonce)]
        if not syn.stream_id or len(syn.spool_id) != 16 or not RUN_ID.match(syn.run_id):
            text = "expected a stream id, a spool id of 16 bytes and a run id of 1 to 64 of A-Z a-z 0-9 . _ -"
            return [self._error(peer, codes.CODE_BAD_VALUE, text, fatal=True, syn_nonce=syn.syn_nonce)]
        stream = self.streams.setdefault(syn.stream_id, Stream(syn.spool_id))
        if stream.spool_id != syn.spool_id:
            return [self._error(peer, codes.CODE_STREAM_CLASH, "the stream id belongs to another spool", fatal=True, syn_nonce=syn.syn_nonce)]  # fmt: skip
        opened = self._opened.setdefault(syn.spool_id, (syn.open_count, syn.open_nonce))
        if opened[0] > syn.open_count or (opened[0] == syn.open_count and opened[1] != syn.open_nonce):
            return [self._error(peer, codes.CODE_FENCED, "the spool was opened later by another process", fatal=True, syn_nonce=syn.syn_nonce)]  # fmt: skip
        self._opened[syn.spool_id] = (syn.open_count, syn.open_nonce)
        for old in [s for s in self.sessions.values() if s.stream_id == syn.stream_id]:
            del self.sessions[old.token]
        # Only what is durable is resumed from: the rest came over a session that is void now.
        stream.frames = [f for f in stream.frames if decode_stream_seq(f.payload)[1] <= stream.durable]
        stream.expected = stream.durable + 1
        session = Session(self.random64(), peer, syn.stream_id)
        self.sessions[session.token] = session
        return [self._answer(peer, ACK, pb.Ack(
            version=min(self.max_version, syn.max_version), syn_nonce=syn.syn_nonce, token=session.token, store_id=self.store_id,
            resume_seq=stream.expected, data_endpoint=self.data_endpoint, heartbeat_ms=self.heartbeat_ms,
            max_payload_bytes=MAX_PAYLOAD_BYTES, wall_ns=self.wall_ns(),
        ))]  # fmt: skip

    def _take_config(self, peer: bytes, config) -> Answers:
        """CONFIG has no token: the newest session of its stream from this peer is meant."""
        session = next((s for s in self.sessions.values() if s.stream_id == config.stream_id and s.peer == peer), None)
        if session is None:
            return [self._error(peer, pb.ErrorReport.CODE_UNKNOWN_TOKEN, "CONFIG of no session")]
        self.configs[config.stream_id] = config
        session.active = True
        return [self._answer(peer, CREDIT, self._credit(session))]

    def _take_ping(self, peer: bytes, ping) -> Answers:
        session = self.sessions.get(ping.token)
        if session is None:
            return [self._error(peer, pb.ErrorReport.CODE_UNKNOWN_TOKEN, "PING of no session", token=ping.token)]
        stream = self.streams[session.stream_id]
        return [self._answer(peer, PONG, pb.Pong(
            token=ping.token, ping_id=ping.ping_id, ping_sent_wall_ns=ping.sent_wall_ns,
            received_wall_ns=self.wall_ns(), sent_wall_ns=self.wall_ns(), expected_seq=stream.expected,
            durable_seq=stream.durable, credit=self._credit(session),
        ))]  # fmt: skip

    def _take_fin(self, peer: bytes, fin) -> Answers:
        session = self.sessions.get(fin.token)
        if session is None:
            return [self._error(peer, pb.ErrorReport.CODE_UNKNOWN_TOKEN, "FIN of no session", token=fin.token)]
        session.final_seq = fin.final_seq
        return self._finish_if_durable(session)

    def _take_bye(self, peer: bytes, bye) -> Answers:
        del peer
        self.sessions.pop(bye.token, None)
        return []

    def _take_nothing(self, peer: bytes, message) -> Answers:
        del peer, message
        return []

    def _take_sequenced(self, session: Session, frame: Frame, seq: int) -> Answers:
        stream = self.streams[session.stream_id]
        if seq < stream.expected:
            return self._count("duplicate")
        if seq > stream.expected:
            self._count("gap")
            return self._resync(session, f"expected seq {stream.expected}, found {seq}")
        stream.frames.append(frame)
        stream.expected = seq + 1
        if frame.msg_type == SKIP:
            stream.expected = max(stream.expected, pb.Skip.FromString(frame.payload).to_seq + 1)
        stream.ended |= frame.msg_type == END
        return []

    def _finish_if_durable(self, session: Session) -> Answers:
        if not session.final_seq or self.streams[session.stream_id].durable < session.final_seq:
            return []
        del self.sessions[session.token]
        return [self._answer(session.peer, BYE, pb.Bye(token=session.token, reason=pb.Bye.REASON_FINISHED))]

    def _resync(self, session: Session, text: str) -> Answers:
        del self.sessions[session.token]
        return [self._error(session.peer, pb.ErrorReport.CODE_RESYNC, text, token=session.token)]

    def _credit(self, session: Session):
        """A window of frames and bytes from where the stream stands."""
        return pb.Credit(
            token=session.token, credit_seq=self.streams[session.stream_id].expected - 1 + CREDIT_FRAMES,
            credit_bytes=session.received_bytes + CREDIT_BYTES,
        )  # fmt: skip

    def _error(self, peer: bytes, code: int, text: str, **fields) -> tuple[bytes, bytes]:
        return self._answer(peer, ERROR, pb.ErrorReport(code=code, text=text, store_id=self.store_id, **fields))

    def _count(self, what: str) -> Answers:
        self.counters[what] += 1
        return []

    @staticmethod
    def _answer(peer: bytes, msg_type: int, message) -> tuple[bytes, bytes]:
        return peer, encode_frame(msg_type, message.SerializeToString())
