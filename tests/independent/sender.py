"""A sender over ZeroMQ, written from docs/protocol.md alone; also a script:

    sender.py --connect tcp://127.0.0.1:5123 --project p --run-id r --points 10000 --keys 20 --seed 1

sends made-up training data (sample.py), the same for the same arguments, and ends when all of it is on the collector's
stable storage: exit 0, else 1. With --spool DIR the frames also lie on disk; `sender.py --connect … --deliver DIR`
sends what a killed sender left there.
"""

import argparse
import pathlib
import random
import struct
import sys
import time
from collections.abc import Callable

import zmq

import connect_line

from contract import pb
from frame_store import FrameStore, SpoolFolder, config_of
from sender_session import CLOSED, SPOOL_ONLY, CloseSockets, ConnectData, OpenControl, SendControl, SendData, SenderSession
from stream_writer import Identity, StreamWriter

POLL_MS = 20
LARGE_HIGH_WATER_MARK = 1_000_000  # above any credit


class Uplink:
    """Carries out what a SenderSession decides. Owns the sockets; single-threaded."""

    def __init__(self, endpoint: str, session: SenderSession):
        self.endpoint, self.session = endpoint, session  # the line of the collector
        self._context = zmq.Context()
        self._control: zmq.Socket | None = None
        self._data: zmq.Socket | None = None
        self._unsent_control: list[bytes] = []
        self._unsent: list[SendData] = []

    def __enter__(self) -> "Uplink":
        self.session.start(time.monotonic())
        return self

    def __exit__(self, *_) -> None:
        self._close()
        self._context.term()

    def run_until(self, done: Callable[[], bool], deadline_s: float) -> bool:
        """Works until `done` or the deadline, and returns done()."""
        end = time.monotonic() + deadline_s
        while not done() and time.monotonic() < end:
            self.turn()
        return done()

    def turn(self) -> None:
        """One round: send what is to be sent, wait a moment for what comes."""
        self.session.tick(time.monotonic())
        self._carry_out()
        poller = zmq.Poller()
        for socket, unsent in ((self._control, self._unsent_control), (self._data, self._unsent)):
            if socket:
                poller.register(socket, zmq.POLLIN | (zmq.POLLOUT if unsent else 0))
        for socket, events in poller.poll(POLL_MS):
            if events & zmq.POLLIN:
                self._receive(socket)
        self._carry_out()

    def send_raw_data(self, parts: list[bytes]) -> None:
        """Any message on the data socket, behind what was sent so far: for tests that misbehave."""
        self._data.send_multipart(parts)

    def _receive(self, socket: zmq.Socket) -> None:
        message = socket.recv(zmq.DONTWAIT)
        if socket is self._control:
            self.session.handle_control(message, time.monotonic())
        elif message[:1] in (b"\0", b"\1"):
            self.session.handle_link(message[0] == 1, time.monotonic())

    def _carry_out(self) -> None:
        self._send_data()
        self._send_control()
        actions, self.session.actions = self.session.actions, []
        for action in actions:
            match action:
                case OpenControl():
                    self._control = self._connect(zmq.DEALER, connect_line.split(self.endpoint)[0])
                case ConnectData(endpoint):
                    self._data = self._connect(zmq.XPUB, endpoint)
                case SendControl(frame):
                    self._send_control(frame)
                case SendData():
                    self._send_data(action)
                case CloseSockets():
                    self._close()

    def _send_control(self, *more: bytes) -> None:
        """A fresh DEALER has no link for a moment: a message waits for it, unless a newer one of its type comes."""
        for frame in more:
            self._unsent_control = [old for old in self._unsent_control if old[8] != frame[8]] + [frame]
        while self._unsent_control:
            try:
                self._control.send(self._unsent_control[0], zmq.DONTWAIT)
            except zmq.Again:
                return
            self._unsent_control.pop(0)

    def _send_data(self, *more: SendData) -> None:
        """In order; what does not fit into the socket now waits in front of everything else."""
        self._unsent += more
        while self._unsent:
            first = self._unsent[0]
            try:
                self._data.send_multipart([struct.pack("<Q", first.token), first.frame], zmq.DONTWAIT)
            except zmq.Again:
                return
            self._unsent.pop(0)

    def _connect(self, kind: int, endpoint: str) -> zmq.Socket:
        socket = self._context.socket(kind)
        socket.setsockopt(zmq.IMMEDIATE, 1)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.HEARTBEAT_IVL, 15_000)
        socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, 15_000)
        socket.setsockopt(zmq.HEARTBEAT_TTL, 45_000)
        socket.setsockopt(zmq.RECONNECT_IVL, random.randint(200, 2_000))
        socket.setsockopt(zmq.RECONNECT_IVL_MAX, 30_000)
        if kind == zmq.XPUB:
            socket.setsockopt(zmq.XPUB_NODROP, 1)
            socket.setsockopt(zmq.SNDHWM, LARGE_HIGH_WATER_MARK)
        connect_line.connect(socket, endpoint, connect_line.split(self.endpoint)[1])
        return socket

    def _close(self) -> None:
        for socket in filter(None, (self._control, self._data)):
            socket.close()
        self._control = self._data = None
        self._unsent_control, self._unsent = [], []


def random64() -> int:
    return random.SystemRandom().randrange(1, 1 << 64)


def fill(store: FrameStore, identity: Identity, arguments: argparse.Namespace) -> None:
    """All frames of the stream, from CONFIG to END, before the first is sent."""
    writer = StreamWriter(identity, store, arguments.keys, arguments.seed, arguments.zstd)
    rows = arguments.points // arguments.keys
    while writer.rows < rows or store.head_seq == 0:
        if store.head_seq % arguments.frames_per_segment == 0:
            writer.begin_segment()
        writer.log_rows(min(arguments.rows_per_frame, rows - writer.rows))
    writer.end()


def deliver(endpoint: str, store: FrameStore, open_count: int, deadline_s: float) -> bool:
    """Sends a whole ended stream and waits until it is durable."""
    session = SenderSession(store, open_count, time.time_ns, random64)
    session.ended = True
    with Uplink(endpoint, session) as uplink:
        uplink.run_until(lambda: session.state in (CLOSED, SPOOL_ONLY), deadline_s)
    if session.state == CLOSED:
        return True
    why = session.last_error.text if session.last_error else "no answer"
    print(f"sender: expected COMMIT of seq {store.head_seq}, have {session.committed_seq}; {why}: {connect_line.split(endpoint)[0]}", file=sys.stderr)
    return False


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connect", required=True, help="the line that the collector prints")
    parser.add_argument("--project", default="independent")
    parser.add_argument("--run-id", default="independent-run")
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--points", type=int, default=1_000)
    parser.add_argument("--keys", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows-per-frame", type=int, default=50)
    parser.add_argument("--frames-per-segment", type=int, default=64)
    parser.add_argument("--zstd", action="store_true", help="compress each batch")
    parser.add_argument("--spool", type=pathlib.Path, help="keep the frames in this new folder too")
    parser.add_argument("--deliver", type=pathlib.Path, help="send what this spool folder holds, as a crashed stream")
    parser.add_argument("--deadline-s", type=float, default=30)
    return parser.parse_args()


def identity_for(arguments: argparse.Namespace) -> Identity:
    """Ids from the arguments, so that a second start with the same ones is the same stream."""
    made = random.Random(f"{arguments.run_id} {arguments.rank} {arguments.seed}")
    return Identity(
        stream_id=made.randrange(1, 1 << 64), spool_id=made.randbytes(16), project=arguments.project,
        run_id=arguments.run_id, run_name=arguments.run_id, rank=arguments.rank, world_size=arguments.rank + 1,
    )  # fmt: skip


def main() -> int:
    arguments = parse_arguments()
    if arguments.deliver:
        spool = SpoolFolder.reopen(arguments.deliver)
        finish_crashed(spool)
        return 0 if deliver(arguments.connect, spool, spool.next_open_count(), arguments.deadline_s) else 1
    identity = identity_for(arguments)
    store, open_count = FrameStore(), 1
    if arguments.spool:
        store = SpoolFolder(arguments.spool, identity.spool_id, identity.stream_id, identity.run_id)
        open_count = store.next_open_count()
    fill(store, identity, arguments)
    return 0 if deliver(arguments.connect, store, open_count, arguments.deadline_s) else 1


def finish_crashed(spool: SpoolFolder) -> None:
    """Ends a stream whose process died before it could."""
    config = config_of(spool)
    identity = Identity(config.stream_id, config.spool_id, config.project, config.run_id)
    if not spool.is_ended():
        StreamWriter(identity, spool, keys=0, seed=0).end(pb.End.STATUS_CRASHED)


if __name__ == "__main__":
    sys.exit(main())
