"""A sender and a collector of this folder talking without sockets, with clocks and ids held still: every byte they say
is written down, the same in each process.
"""

import collections
import dataclasses

from collector_session import CollectorSessions
from frame_store import FrameStore
from sender_session import CloseSockets, ConnectData, OpenControl, SendControl, SendData, SenderSession
from sideband_frames import decode_frame
from stream_writer import OPENED_WALL_NS, Identity, StreamWriter

DATA_ENDPOINT = "tcp://127.0.0.1:5124"
STORE_ID = bytes(range(0x20, 0x30))
SPOOL_ID = bytes(range(0x10, 0x20))
STREAM_ID = 0x0123456789ABCDEF
PEER = b"peer"


@dataclasses.dataclass(frozen=True)
class Message:
    """One message of a conversation. `token` only on the data channel."""

    direction: str  # ">" sender to collector, "<" collector to sender
    channel: str  # "control" or "data"
    frame: bytes
    token: int = 0

    @property
    def msg_type(self) -> int:
        """Of a valid frame."""
        return decode_frame(self.frame).msg_type


@dataclasses.dataclass(frozen=True)
class Event:
    """What happens to sockets between messages: "connect control", "connect data", "subscribed", "close"."""

    what: str


class Ids:
    """Numbers that look random and are the same each time."""

    def __init__(self, first: int):
        self._next = first

    def __call__(self) -> int:
        self._next += 1
        return self._next


class Conversation:
    """Time stands still unless a test moves `now`."""

    def __init__(self, keys: int = 2):
        self.now = 100.0
        self.lines: list[Message | Event] = []
        self.lose_data = 0  # so many of the next data messages vanish, as at a broken link
        self.break_data = 0  # so many arrive with another last byte
        self.store = FrameStore()
        self.identity = Identity(STREAM_ID, SPOOL_ID, "golden", "golden-run", "calm-otter")
        self.writer = StreamWriter(self.identity, self.store, keys=keys, seed=1)
        self.collector = CollectorSessions(STORE_ID, self.wall_ns, Ids(0xC011EC7000000000))
        self.collector.data_endpoint = DATA_ENDPOINT
        self.sender = self.new_sender(open_count=1)

    def new_sender(self, open_count: int, first_id: int = 0x5E4D000000000000) -> SenderSession:
        """Another process that opens the same spool."""
        return SenderSession(self.store, open_count, self.wall_ns, Ids(first_id))

    def wall_ns(self) -> int:
        return OPENED_WALL_NS + int(self.now * 1e9)

    def start(self) -> None:
        self.sender.start(self.now)
        self.exchange()

    def log(self, rows: int) -> None:
        """A frame more, in the first segment begun if there is none."""
        if not self.store.segments:
            self.writer.begin_segment()
        self.writer.log_rows(rows)

    def finish(self) -> None:
        self.writer.end()
        self.sender.ended = True

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.exchange()

    def exchange(self) -> None:
        """Carries messages until nobody has anything to say."""
        self.sender.tick(self.now)
        while self.sender.actions:
            actions = collections.deque(self.sender.actions)
            self.sender.actions.clear()
            for action in actions:
                self._carry(action)
            self.sender.tick(self.now)

    def commit(self) -> None:
        """What the collector stored so far becomes durable."""
        self.answer(self.collector.commit())
        self.exchange()

    def say_control(self, frame: bytes) -> None:
        """A control message of the sender that the session would not send by itself."""
        self.lines.append(Message(">", "control", frame))
        self.answer(self.collector.handle_control(PEER, frame))

    def say_data(self, token: int, frame: bytes) -> None:
        self.lines.append(Message(">", "data", frame, token))
        self.answer(self.collector.handle_data([token.to_bytes(8, "little"), frame]))

    def answer(self, answers: list[tuple[bytes, bytes]]) -> None:
        for _, frame in answers:
            self.lines.append(Message("<", "control", frame))
            self.sender.handle_control(frame, self.now)

    def _carry(self, action) -> None:
        match action:
            case OpenControl():
                self.lines.append(Event("connect control"))
            case ConnectData():
                self.lines += [Event("connect data"), Event("subscribed")]
                self.sender.handle_link(True, self.now)
            case SendControl(frame):
                self.say_control(frame)
            case SendData() if self.lose_data:
                self.lose_data -= 1
            case SendData(token, frame) if self.break_data:
                self.break_data -= 1
                self.say_data(token, frame[:-1] + bytes([frame[-1] ^ 1]))
            case SendData(token, frame):
                self.say_data(token, frame)
            case CloseSockets():
                self.lines.append(Event("close"))
