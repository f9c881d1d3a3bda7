"""The sender's side of docs/protocol.md, sections 2 to 6, without sockets, clock or randomness of its own.

Inputs are the methods, outputs collect in `actions`. Times are seconds of any clock that only goes forward, `wall_ns`
and `random64` come from outside, so a test or a transcript can hold them still.
"""

import dataclasses
from collections.abc import Callable

from contract import ACK, BYE, COMMIT, CREDIT, ERROR, FIN, MESSAGE_OF_TYPE, PING, PONG, SKIP, SYN, pb
from frame_store import FrameStore, config_of
from sideband_frames import FrameError, decode_frame, encode_frame

PROTOCOL_VERSION = 1
CONNECTING, LINKING, CONFIGURING, STREAMING, CLOSED, SPOOL_ONLY = (
    "CONNECTING", "LINKING", "CONFIGURING", "STREAMING", "CLOSED", "SPOOL_ONLY",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class OpenControl:
    """A fresh DEALER to the control endpoint."""


@dataclasses.dataclass(frozen=True)
class ConnectData:
    """A fresh XPUB to this endpoint."""

    endpoint: str


@dataclasses.dataclass(frozen=True)
class SendControl:
    frame: bytes


@dataclasses.dataclass(frozen=True)
class SendData:
    token: int
    frame: bytes


@dataclasses.dataclass(frozen=True)
class CloseSockets:
    """Both sockets, without lingering."""


class RolledBack(Exception):
    """The collector holds frames that the spool lost: go on in a new stream."""


Action = OpenControl | ConnectData | SendControl | SendData | CloseSockets


class SenderSession:
    def __init__(self, store: FrameStore, open_count: int, wall_ns: Callable[[], int], random64: Callable[[], int]):
        self.store, self.open_count, self.wall_ns, self.random64 = store, open_count, wall_ns, random64
        self.open_nonce = random64()
        self.min_version = self.max_version = PROTOCOL_VERSION
        self.actions: list[Action] = []
        self.state = CLOSED
        self.ended = False  # END is in the store: finish when all is sent
        self.committed_seq = 0
        self.store_id = b""
        self.last_error = None
        self.sessions = 0
        self.pings_answered = 0
        self.last_bye = None
        self._attempts = 0
        self._forget()

    def _forget(self) -> None:
        self.token = self.cursor = self.credit_seq = self.credit_bytes = self.sent_bytes = self.sent_seq = 0
        self._data_endpoint = ""
        self._heartbeat_s = 30.0
        self._lost_at = None  # expected_seq of the last PONG that lay behind its PING
        self._pings: dict[int, tuple[float, int]] = {}  # ping_id: (when, sent_seq)

    def start(self, now: float, delay_s: float = 0) -> None:
        """CONNECTING: sockets anew, and a SYN after the delay that the collector asked for."""
        if self.state != CLOSED:
            self.actions.append(CloseSockets())
        self._forget()
        self.state = CONNECTING
        self.actions.append(OpenControl())
        if delay_s:
            self._next_send = now + delay_s
        else:
            self._send_syn(now)

    def handle_link(self, up: bool, now: float) -> None:
        """The XPUB got a subscription (a message 0x01) or lost it (0x00)."""
        if not up and self.state in (LINKING, CONFIGURING, STREAMING):
            self.start(now)
        elif up and self.state == LINKING:
            self.state = CONFIGURING
            self._deadline = now + 10
            self._send_config(now)

    def handle_control(self, data: bytes, now: float) -> None:
        """A message on the DEALER. What does not belong to this session is dropped."""
        try:
            frame = decode_frame(data)
            message = MESSAGE_OF_TYPE[frame.msg_type].FromString(frame.payload)
        except (FrameError, KeyError):
            return
        if frame.msg_type == ACK:
            self._take_ack(message, now)
        elif frame.msg_type == ERROR:
            self._take_error(message, now)
        elif self.token and message.token == self.token:
            self._heard = now
            handler = {CREDIT: self._take_credit, COMMIT: self._take_commit, PING: self._take_ping,
                       PONG: self._take_pong, BYE: self._take_bye}.get(frame.msg_type)  # fmt: skip
            if handler:
                handler(message, now)

    def tick(self, now: float) -> None:
        """Timers, and whatever may be sent."""
        if self.state == CONNECTING and now >= self._next_send:
            self._send_syn(now)
        elif self.state in (LINKING, CONFIGURING) and now >= self._deadline:
            self.start(now)
        elif self.state == CONFIGURING and now >= self._next_send:
            self._send_config(now)
        elif self.state == STREAMING:
            self._stream(now)

    # --- handshake

    def _send_syn(self, now: float) -> None:
        config = config_of(self.store)
        self._syn_nonce = self.random64()
        self._send(SYN, pb.Syn(
            min_version=self.min_version, max_version=self.max_version, stream_id=config.stream_id,
            spool_id=config.spool_id, open_count=self.open_count, open_nonce=self.open_nonce,
            head_seq=self.store.head_seq, oldest_seq=self.store.oldest_seq, syn_nonce=self._syn_nonce,
            run_id=config.run_id, project=config.project, user=config.user, wall_ns=self.wall_ns(),
            library=config.library, last_store_id=self.store_id, last_commit_seq=self.committed_seq,
        ))  # fmt: skip
        self._next_send = now + self._back_off_s()
        self._attempts += 1

    def _back_off_s(self) -> float:
        """1 s doubled each time up to 30 s, with full jitter."""
        return min(30.0, 2.0**self._attempts) * (self.random64() % 1000) / 1000

    def _take_ack(self, ack, now: float) -> None:
        if self.state != CONNECTING or ack.syn_nonce != self._syn_nonce:
            return
        if ack.resume_seq > self.store.head_seq + 1:
            raise RolledBack(f"resume: expected at most seq {self.store.head_seq + 1}, found {ack.resume_seq}")
        self.token, self.cursor, self._data_endpoint = ack.token, ack.resume_seq, ack.data_endpoint
        self._heartbeat_s = ack.heartbeat_ms / 1000 or self._heartbeat_s
        self._heard, self._next_ping = now, now + self._heartbeat_s
        self._attempts = 0
        self.sessions += 1
        self.sent_seq = ack.resume_seq - 1
        self.state, self._deadline = LINKING, now + 5
        self.actions.append(ConnectData(ack.data_endpoint))

    def _send_config(self, now: float) -> None:
        self.actions.append(SendControl(self.store.keyframe(self.cursor)))
        self._next_send = now + 2

    def _take_error(self, error, now: float) -> None:
        if error.syn_nonce and error.syn_nonce != self._syn_nonce:
            return
        if error.token and error.token != self.token:
            return
        self.last_error = error
        if error.fatal:
            self.state = SPOOL_ONLY
            self.actions.append(CloseSockets())
        elif error.code in (pb.ErrorReport.CODE_UNKNOWN_TOKEN, pb.ErrorReport.CODE_RESYNC):
            self.start(now)
        elif error.code in (pb.ErrorReport.CODE_DISK_FULL, pb.ErrorReport.CODE_OVERLOADED):
            self.start(now, error.retry_after_ms / 1000)

    # --- streaming

    def _take_credit(self, credit, now: float) -> None:
        self.credit_seq = max(self.credit_seq, credit.credit_seq)
        self.credit_bytes = max(self.credit_bytes, credit.credit_bytes)
        if self.state == CONFIGURING:
            self.state = STREAMING
            self._next_fin = now
            self._progress = now
            self._blocked_since = None

    def _take_commit(self, commit, now: float) -> None:
        if commit.seq <= self.store.head_seq:
            self.committed_seq, self.store_id = max(self.committed_seq, commit.seq), commit.store_id
            self.store.trim(commit.seq)
        self._progress = now
        self._take_inner_credit(commit, now)

    def _take_inner_credit(self, message, now: float) -> None:
        if message.HasField("credit"):
            self._take_credit(message.credit, now)

    def _take_ping(self, ping, now: float) -> None:
        del now
        self.pings_answered += 1
        self._send(PONG, pb.Pong(
            token=self.token, ping_id=ping.ping_id, ping_sent_wall_ns=ping.sent_wall_ns,
            received_wall_ns=self.wall_ns(), sent_wall_ns=self.wall_ns(),
        ))  # fmt: skip

    def _take_pong(self, pong, now: float) -> None:
        when, sent_seq = self._pings.pop(pong.ping_id, (now, 0))
        self._progress = now
        self._take_inner_credit(pong, now)
        if pong.expected_seq > sent_seq:
            self._lost_at = None
        elif self._lost_at and self._lost_at[1] == pong.expected_seq and when - self._lost_at[0] >= 1:
            self.start(now)
        elif not self._lost_at or self._lost_at[1] != pong.expected_seq:
            self._lost_at = (when, pong.expected_seq)

    def _take_bye(self, bye, now: float) -> None:
        self.last_bye = bye
        if bye.reason == pb.Bye.REASON_FINISHED:
            self.state = CLOSED
            self.actions.append(CloseSockets())
        else:
            self.start(now, bye.retry_after_ms / 1000)

    def _stream(self, now: float) -> None:
        if now - self._heard >= 3 * self._heartbeat_s:
            self.start(now)
            return
        blocked = not self._send_frames()
        if blocked and self._blocked_since is None:
            self._blocked_since = now
        elif not blocked:
            self._blocked_since = None
        waited = blocked and now - self._blocked_since >= 1
        silent = self.sent_seq > self.committed_seq and now - self._progress >= 5
        if now >= self._next_ping or waited or silent:
            self._send_ping(now)
        if self.ended and self.cursor > self.store.head_seq and now >= self._next_fin:
            self._send(FIN, pb.Fin(token=self.token, final_seq=self.store.head_seq))
            self._next_fin = now + 1

    def _send_frames(self) -> bool:
        """First send, resend and catch-up. False: the credit is used up."""
        while self.cursor <= self.store.head_seq:
            frame, last_seq = self._frame_at_cursor()
            if self.cursor > self.credit_seq or self.sent_bytes + len(frame) > self.credit_bytes:
                return False
            self.actions.append(SendData(self.token, frame))
            self.sent_bytes += len(frame)
            self.sent_seq, self.cursor = last_seq, last_seq + 1
        return True

    def _frame_at_cursor(self) -> tuple[bytes, int]:
        """The frame to send and the last seq that it stands for; a SKIP where the store has none that is whole."""
        if self.cursor < self.store.oldest_seq:
            to_seq = self.store.oldest_seq - 1
            return self._skip(to_seq, pb.LOSS_REASON_TRIMMED), to_seq
        frame = self.store.get(self.cursor)
        try:
            decode_frame(frame)
        except FrameError:
            return self._skip(self.cursor, pb.LOSS_REASON_CORRUPT), self.cursor
        return frame, self.cursor

    def _skip(self, to_seq: int, reason: int) -> bytes:
        stream_id = config_of(self.store).stream_id
        skip = pb.Skip(stream_id=stream_id, seq=self.cursor, to_seq=to_seq, reason=reason)
        return encode_frame(SKIP, skip.SerializeToString())

    def _send_ping(self, now: float) -> None:
        ping_id = self.random64()
        self._pings[ping_id] = (now, self.sent_seq)
        self._send(PING, pb.Ping(
            token=self.token, ping_id=ping_id, sent_wall_ns=self.wall_ns(), head_seq=self.store.head_seq,
            sent_seq=self.sent_seq,
        ))  # fmt: skip
        jitter = 0.9 + 0.2 * (self.random64() % 1000) / 1000
        self._next_ping = now + self._heartbeat_s * jitter
        self._blocked_since, self._progress = now, now

    def _send(self, msg_type: int, message) -> None:
        self.actions.append(SendControl(encode_frame(msg_type, message.SerializeToString())))


