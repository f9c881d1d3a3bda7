"""Plays one side of a golden transcript to a real program and compares what it says with the other side.

The rules: tests/golden/transcripts/README.md. A difference is an AssertionError that names the line.
"""

import time

import zmq

import connect_line

import contract
from conversation import Event
from sideband_frames import decode_frame, decode_stream_seq, encode_frame
from transcript import Line, Transcript, decode_message

DEADLINE_S = 20


def _expect(holds: bool, line, what: str) -> None:
    if not holds:
        raise AssertionError(f"{what} at {line.said.direction} {line.said.channel} {line.type} {line.message}")


def _receive(socket: zmq.Socket, line: Line) -> list[bytes]:
    _expect(socket.poll(DEADLINE_S * 1000) != 0, line, f"expected a message within {DEADLINE_S} s, found none")
    return socket.recv_multipart()


class SenderRole:
    """Plays the sender's lines to a collector."""

    def __init__(self, line: str):
        self._control_endpoint, self._keys = connect_line.split(line)
        self._context = zmq.Context()
        self._control = self._data = None
        self._tokens: dict[int, int] = {}  # the file's: the collector's
        self._data_endpoint = ""
        self._store_id = b""

    def __enter__(self) -> "SenderRole":
        return self

    def __exit__(self, *_) -> None:
        self._close()
        self._context.term()

    def play(self, transcript: Transcript) -> None:
        for line in transcript.lines:
            if isinstance(line, Event):
                self._happen(line.what)
            elif line.said.direction == "<":
                self._compare(line)
            elif line.said.channel == "control":
                self._control.send(self._with_real_token(line))
            else:
                token = self._tokens[line.said.token]
                self._data.send_multipart([token.to_bytes(8, "little"), line.said.frame])

    def _happen(self, what: str) -> None:
        if what == "connect control":
            self._control = self._connect(zmq.DEALER, self._control_endpoint)
        elif what == "connect data":
            self._data = self._connect(zmq.XPUB, self._data_endpoint)
        elif what == "subscribed":
            if not self._data.poll(DEADLINE_S * 1000) or self._data.recv()[:1] != b"\1":
                raise AssertionError("expected a subscription on the XPUB, found none")
        elif what == "close":
            self._close()

    def _compare(self, line: Line) -> None:
        while True:
            (data,) = _receive(self._control, line)
            frame, actual = decode_frame(data), decode_message(data)
            name = contract.NAME_OF_TYPE.get(frame.msg_type)
            if name == line.type and not self._is_earlier_commit(line, actual):
                break
            _expect(name in ("CREDIT", "PING", "COMMIT"), line, f"found {name} {actual}")
        if name == "ACK":
            self._tokens[line.message.token] = actual.token
            self._data_endpoint, self._store_id = actual.data_endpoint, actual.store_id
        if name in ("COMMIT", "ERROR"):
            _expect(actual.store_id in (b"", self._store_id) or not self._store_id, line, "found another store_id")
        self._put_file_token(actual)
        differences = line.differences(actual)
        _expect(not differences, line, "; ".join(differences))

    @staticmethod
    def _is_earlier_commit(line: Line, actual) -> bool:
        return line.type == "COMMIT" and actual.seq < line.message.seq

    def _put_file_token(self, actual) -> None:
        if "token" in actual.DESCRIPTOR.fields_by_name:
            file_tokens = {real: file for file, real in self._tokens.items()}
            actual.token = file_tokens.get(actual.token, actual.token)

    def _with_real_token(self, line: Line) -> bytes:
        if line.message is None or "token" not in line.message.DESCRIPTOR.fields_by_name:
            return line.said.frame
        message = type(line.message)()
        message.CopyFrom(line.message)
        message.token = self._tokens.get(message.token, message.token)
        return encode_frame(decode_frame(line.said.frame).msg_type, message.SerializeToString())

    def _connect(self, kind: int, endpoint: str) -> zmq.Socket:
        socket = self._context.socket(kind)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.IMMEDIATE, 1)
        # IMMEDIATE: a send waits for the link, and this long at most.
        socket.setsockopt(zmq.SNDTIMEO, DEADLINE_S * 1000)
        if kind == zmq.XPUB:
            socket.setsockopt(zmq.XPUB_NODROP, 1)
        connect_line.connect(socket, endpoint, self._keys)
        return socket

    def _close(self) -> None:
        for socket in filter(None, (self._control, self._data)):
            socket.close()
        self._control = self._data = None


class CollectorRole:
    """Plays the collector's lines to a sender, which connects to `control`."""

    def __init__(self):
        self._context = zmq.Context()
        self._router, self._sub = self._context.socket(zmq.ROUTER), self._context.socket(zmq.SUB)
        for socket in (self._router, self._sub):
            socket.setsockopt(zmq.LINGER, 0)
            socket.bind("tcp://127.0.0.1:*")
        self._sub.setsockopt(zmq.SUBSCRIBE, b"")
        self.control = self._router.getsockopt_string(zmq.LAST_ENDPOINT)
        self._data_endpoint = self._sub.getsockopt_string(zmq.LAST_ENDPOINT)
        self._peer = b""
        self._syn_nonce = 0
        self._committed = self._last_seq = 0
        self._last_data_type = ""

    def __enter__(self) -> "CollectorRole":
        return self

    def __exit__(self, *_) -> None:
        self._router.close()
        self._sub.close()
        self._context.term()

    def play(self, transcript: Transcript) -> None:
        for line in transcript.lines:
            if isinstance(line, Event):
                continue
            if line.said.direction == "<":
                self._send(line)
            elif line.said.channel == "control":
                self._take_control(line)
            else:
                self._take_data(line)

    def hears_more(self, seconds: float) -> bool:
        """Another message on the control channel within this time."""
        return self._router.poll(seconds * 1000) != 0

    def _send(self, line: Line) -> None:
        message = type(line.message)()
        message.CopyFrom(line.message)
        if line.type == "ACK":
            message.resume_seq = self._committed + 1
            message.data_endpoint = self._data_endpoint
            self._last_seq, self._last_data_type = self._committed, ""
        elif line.type == "COMMIT":
            message.seq = self._committed = self._last_seq
        if getattr(message, "syn_nonce", 0):
            message.syn_nonce = self._syn_nonce
        frame = encode_frame(decode_frame(line.said.frame).msg_type, message.SerializeToString())
        self._router.send_multipart([self._peer, frame])

    def _receive(self, socket: zmq.Socket, line: Line) -> list[bytes]:
        """A message of one socket, while both are served: a SUB subscribes only when its thread looks at it."""
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            self._sub.poll(0)
            if socket.poll(10):
                return socket.recv_multipart()
        _expect(False, line, f"expected a message within {DEADLINE_S} s, found none")

    def _take_control(self, line: Line) -> None:
        while True:
            peer, data = self._receive(self._router, line)
            name, actual = contract.NAME_OF_TYPE.get(decode_frame(data).msg_type), decode_message(data)
            if line.type == name == "SYN":
                self._peer, self._syn_nonce = peer, actual.syn_nonce
            elif peer != self._peer:
                continue  # of a session that is over
            if name == line.type:
                break
            _expect(name in ("SYN", "CONFIG", "PING", "FIN"), line, f"found {name} {actual}")
        differences = line.differences(actual)
        if name == "FIN" and actual.final_seq != self._last_seq:
            differences.append(f"final_seq: expected {self._last_seq}, found {actual.final_seq}")
        _expect(not differences, line, "; ".join(differences))

    def _take_data(self, line: Line) -> None:
        if line.type == self._last_data_type == "LOG":
            return  # stands for the same frames as the line before
        self._last_data_type = line.type
        while True:
            token, data = self._receive(self._sub, line)
            if token != line.said.token.to_bytes(8, "little"):
                continue
            frame = decode_frame(data)
            seq = decode_stream_seq(frame.payload)[1]
            _expect(seq == self._last_seq + 1, line, f"expected seq {self._last_seq + 1}, found {seq}")
            self._last_seq = seq
            name = contract.NAME_OF_TYPE.get(frame.msg_type)
            if name == line.type:
                break
            _expect(name == "LOG", line, f"found {name}")
        differences = line.differences(decode_message(data))
        _expect(not differences, line, "; ".join(differences))
