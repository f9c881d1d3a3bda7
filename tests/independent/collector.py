"""A collector over ZeroMQ that stores in memory, written from docs/protocol.md alone: enough to receive from any sender.

    with Collector() as collector:
        ...                       # senders connect to collector.control
        collector.wait_for(lambda: collector.has_ended(stream_id))

One thread owns the sockets and all state; `wait_for` looks at it under the lock.
"""

import random
import struct
import threading
import time
from collections.abc import Callable

import zmq

from collector_session import CollectorSessions
from sideband_frames import Frame

COMMIT_EVERY_S = 0.05
POLL_MS = 10


class Collector:
    def __init__(self):
        self.sessions = CollectorSessions(random.randbytes(16), time.time_ns, lambda: random.randrange(1, 1 << 64))
        self.syns = 0
        self._lock = threading.Condition()
        self._context = zmq.Context()
        self._router = self._bind(zmq.ROUTER)
        self._router.setsockopt(zmq.ROUTER_MANDATORY, 1)
        self._sub = self._bind(zmq.SUB)
        self._sub.setsockopt(zmq.SUBSCRIBE, b"")
        self.control = self.connect = self._router.getsockopt_string(zmq.LAST_ENDPOINT)
        self.sessions.data_endpoint = self._sub.getsockopt_string(zmq.LAST_ENDPOINT)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="collector")

    def __enter__(self) -> "Collector":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._stopping.set()
        self._thread.join()
        self._context.term()

    def wait_for(self, condition: Callable[[], bool], deadline_s: float = 30) -> bool:
        with self._lock:
            return self._lock.wait_for(condition, deadline_s)

    def has_ended(self, streams: int = 1) -> bool:
        """So many streams have their END on stable storage, and no session is open any more."""
        ended = [s for s in self.sessions.streams.values() if s.ended and s.durable == s.expected - 1]
        return len(ended) >= streams and not self.sessions.sessions

    def stored_frames(self) -> list[Frame]:
        """Every durable frame, stream by stream."""
        with self._lock:
            return [frame for stream in self.sessions.streams.values() for frame in stream.frames]

    def break_session(self) -> None:
        """As after a failed sync of the disk."""
        with self._lock:
            self._answers = self.sessions.void_sessions("the test broke the session")

    _answers: list[tuple[bytes, bytes]] = []

    def _run(self) -> None:
        poller = zmq.Poller()
        poller.register(self._router, zmq.POLLIN)
        poller.register(self._sub, zmq.POLLIN)
        next_commit = time.monotonic()
        while not self._stopping.is_set():
            poller.poll(POLL_MS)
            with self._lock:
                self._receive_control()
                self._receive_data()
                if time.monotonic() >= next_commit:
                    self._answer(self.sessions.commit())
                    next_commit = time.monotonic() + COMMIT_EVERY_S
                self._answer(self._answers)
                self._answers = []
                self._lock.notify_all()
        self._router.close(linger=0)
        self._sub.close(linger=0)

    def _receive_control(self) -> None:
        while self._router.poll(0):
            peer, *parts = self._router.recv_multipart()
            if len(parts) == 1:
                self._answer(self.sessions.handle_control(peer, parts[0]))

    def _receive_data(self) -> None:
        # A bounded turn, so that control messages never wait behind data.
        for _ in range(256):
            if not self._sub.poll(0):
                return
            self._answer(self.sessions.handle_data(self._sub.recv_multipart()))

    def _answer(self, answers: list[tuple[bytes, bytes]]) -> None:
        for peer, frame in answers:
            try:
                self._router.send_multipart([peer, frame], zmq.DONTWAIT)
            except zmq.ZMQError:
                pass  # the peer is gone or full; every answer is cumulative or asked for again

    def _bind(self, kind: int) -> zmq.Socket:
        socket = self._context.socket(kind)
        socket.setsockopt(zmq.LINGER, 0)
        socket.bind("tcp://127.0.0.1:*")
        return socket
