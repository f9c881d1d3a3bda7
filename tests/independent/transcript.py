"""Golden transcripts: who says what to whom in which order, as text. The format: tests/golden/transcripts/README.md."""

import dataclasses
import json
import pathlib
from collections.abc import Callable

from google.protobuf import json_format
from google.protobuf.message import DecodeError

import contract
from conversation import Event, Message
from sideband_frames import FrameError, decode_frame

BAD = "BAD"  # the type of bytes that are no valid frame

# Fields that a program fills as it likes; "*" means all of them. What is not named here must be as in the transcript.
FREE = {
    (">", "SYN"): "stream_id spool_id open_nonce syn_nonce head_seq oldest_seq user wall_ns monotonic_ns library "
                  "last_store_id last_commit_seq features",
    (">", "CONFIG"): "stream_id spool_id seq run_name user local_rank host pid config tags group notes environment git "
                     "metric_definitions opened library",
    (">", "LOG"): "*",
    (">", "SKIP"): "stream_id text",
    (">", "END"): "stream_id seq exit_code reason ended points_total drops",
    (">", "PING"): "ping_id sent_wall_ns head_seq sent_seq clock_offset_ns clock_delay_ns",
    (">", "PONG"): "received_wall_ns sent_wall_ns",
    (">", "FIN"): "final_seq",
    ("<", "ACK"): "token store_id data_endpoint heartbeat_ms wall_ns features program",
    ("<", "CREDIT"): "credit_seq credit_bytes",
    ("<", "COMMIT"): "store_id credit",
    ("<", "PONG"): "received_wall_ns sent_wall_ns credit",
    ("<", "ERROR"): "text retry_after_ms store_id",
    ("<", "BYE"): "retry_after_ms",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Line:
    """A message of a transcript, decoded."""

    said: Message
    type: str
    free: frozenset[str]
    message: object  # None for BAD and for types without a message
    known: frozenset[str] | None = None  # the message's fields in the release that said this; None: as the contract is

    def differences(self, actual) -> list[str]:
        """How `actual`, a message of the same class, differs in fields that are not free."""
        if "*" in self.free:
            return []
        expected, found = _fields(self.message), _fields(actual)
        grown = set() if self.known is None else found.keys() - self.known
        names = (expected.keys() | found.keys()) - self.free - grown
        return [
            f"{name}: expected {expected.get(name)}, found {found.get(name)}"
            for name in sorted(names)
            if expected.get(name) != found.get(name)
        ]


@dataclasses.dataclass(frozen=True)
class Transcript:
    drives: frozenset[str]  # "collector", "sender": which programs it can be held to
    text: str  # what it shows
    lines: list[Line | Event]


def line_of(said: Message) -> Line:
    try:
        msg_type = decode_frame(said.frame).msg_type
        name = contract.NAME_OF_TYPE.get(msg_type, f"0x{msg_type:02X}")
        message = decode_message(said.frame)
    except FrameError:
        name, message = BAD, None
    return Line(said, name, frozenset(FREE.get((said.direction, name), "").split()), message)


def decode_message(frame: bytes):
    """The protobuf message of a frame; None for a type without one."""
    decoded = decode_frame(frame)
    try:
        return contract.MESSAGE_OF_TYPE[decoded.msg_type].FromString(decoded.payload)
    except (KeyError, DecodeError):
        return None


def format_line(line: Line | Event) -> str:
    if isinstance(line, Event):
        return f"! {line.what}"
    said = line.said
    token = said.token.to_bytes(8, "little").hex() if said.channel == "data" else "-"
    free = ",".join(sorted(line.free)) or "-"
    told = json.dumps(_fields(line.message), ensure_ascii=False) if line.message is not None else "null"
    return f"{said.direction} {said.channel} {line.type} {token} {free} {said.frame.hex()} {told}"


def format_transcript(transcript: Transcript) -> str:
    head = [f"# {transcript.text}", f"# drives: {' '.join(sorted(transcript.drives))}"]
    return "\n".join(head + [format_line(line) for line in transcript.lines]) + "\n"


def read_transcript(path: pathlib.Path) -> Transcript:
    """Reads a file and holds each line's JSON to its bytes."""

    def check(line: Line, row: str) -> Line:
        if format_line(line) != row:
            raise FrameError(f"expected {format_line(line)!r}, found {row!r}: {path}")
        return line

    return _read(path, check)


def read_release_transcript(path: pathlib.Path) -> Transcript:
    """Reads what a release left: its bytes and its free fields hold, whatever the contract has grown since."""
    fields = _fields_of_release(path.parents[1] / "proto_numbers.txt")

    def freeze(line: Line, row: str) -> Line:
        free = frozenset(row.split(" ", 6)[4].split(",")) - {"-"}
        known = fields.get(line.message.DESCRIPTOR.name) if line.message is not None else None
        return dataclasses.replace(line, free=free, known=known)

    return _read(path, freeze)


def _read(path: pathlib.Path, judge: Callable[[Line, str], Line]) -> Transcript:
    text, drives, *body = path.read_text().splitlines()
    lines: list[Line | Event] = []
    for row in body:
        if row.startswith("! "):
            lines.append(Event(row[2:]))
            continue
        direction, channel, _, token, _, frame, _ = row.split(" ", 6)
        number_of_token = int.from_bytes(bytes.fromhex(token), "little") if channel == "data" else 0
        lines.append(judge(line_of(Message(direction, channel, bytes.fromhex(frame), number_of_token)), row))
    return Transcript(frozenset(drives.removeprefix("# drives: ").split()), text.removeprefix("# "), lines)


def _fields_of_release(path: pathlib.Path) -> dict[str, frozenset[str]]:
    """The names of the fields of each message, from lines like `message Ack fixed64 token = 4`."""
    names: dict[str, set[str]] = {}
    for line in path.read_text().splitlines():
        if line.startswith("message "):
            left = line.split(" = ")[0].split()
            names.setdefault(left[1], set()).add(left[-1])
    return {message: frozenset(fields) for message, fields in names.items()}


def _fields(message) -> dict:
    return json_format.MessageToDict(message, preserving_proto_field_name=True)
