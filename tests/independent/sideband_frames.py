"""Frames to bytes and back, and the scanner that finds frames in damaged bytes. Written from docs/format.md alone.

    0      4        8      9          13
    | ZZZZ | length | type | checksum | payload (length bytes, one protobuf message) |
"""

import dataclasses
import struct
from collections.abc import Iterator

import xxhash

MAGIC = b"ZZZZ"
HEADER = struct.Struct("<4sIBI")
MAX_PAYLOAD_BYTES = 262_144


class FrameError(Exception):
    """Bytes that are not a frame. `cut_off`: they are the good beginning of one."""

    def __init__(self, message: str, cut_off: bool = False):
        super().__init__(message)
        self.cut_off = cut_off


@dataclasses.dataclass(frozen=True)
class Frame:
    msg_type: int
    payload: bytes
    bytes: bytes  # header and payload as they stand


@dataclasses.dataclass(frozen=True)
class ScannedFrame:
    offset: int
    frame: Frame


@dataclasses.dataclass(frozen=True)
class Damage:
    """Bytes without a valid frame in them, followed by a valid frame or the end of the input."""

    offset: int
    bytes: int


@dataclasses.dataclass(frozen=True)
class TornTail:
    """The input ends inside a frame that had been good so far."""

    offset: int
    bytes: int


def checksum(header_start: bytes, payload: bytes) -> int:
    """XXH32 of the payload, seeded with XXH32 of the nine bytes in front of the checksum."""
    return xxhash.xxh32_intdigest(payload, xxhash.xxh32_intdigest(header_start, 0))


def encode_frame(msg_type: int, payload: bytes) -> bytes:
    """The payload with its header in front."""
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise FrameError(f"encode a frame: expected at most {MAX_PAYLOAD_BYTES} payload bytes, found {len(payload)}")
    start = struct.pack("<4sIB", MAGIC, len(payload), msg_type)
    return start + struct.pack("<I", checksum(start, payload)) + payload


def decode_frame_at(data: bytes, offset: int) -> Frame:
    """The frame that begins at `offset`; more bytes may follow it."""
    available = len(data) - offset
    start = data[offset : offset + len(MAGIC)]
    if start != MAGIC[: len(start)]:
        raise FrameError(f"expected the magic {MAGIC!r}, found {start!r}")
    if available < HEADER.size:
        raise FrameError(f"expected {HEADER.size} header bytes, found {available}", cut_off=True)
    _, length, msg_type, expected = HEADER.unpack_from(data, offset)
    if length > MAX_PAYLOAD_BYTES:
        raise FrameError(f"expected at most {MAX_PAYLOAD_BYTES} payload bytes, found a length of {length}")
    end = offset + HEADER.size + length
    if end > len(data):
        raise FrameError(f"expected {length} payload bytes, found {available - HEADER.size}", cut_off=True)
    payload = data[offset + HEADER.size : end]
    found = checksum(data[offset : offset + 9], payload)
    if found != expected:
        raise FrameError(f"expected checksum {expected:#010x}, found {found:#010x}")
    return Frame(msg_type, payload, data[offset:end])


def decode_frame(data: bytes) -> Frame:
    """Exactly one frame, as a received message must be."""
    frame = decode_frame_at(data, 0)
    if len(frame.bytes) != len(data):
        raise FrameError(f"expected one frame of {len(frame.bytes)} bytes, found {len(data)}")
    return frame


def scan(data: bytes) -> Iterator[ScannedFrame | Damage | TornTail]:
    """Frames, damage and a torn tail of a whole input, in order.

    A place that is no frame sends the scanner to the next magic, one byte on at the least: never on by a length that
    did not pass its checks. The first candidate that the end of the input cuts off is the torn tail, unless a valid
    frame is found behind it: then it was damage too.
    """
    offset = good_end = 0
    torn = None
    while offset < len(data):
        try:
            frame = decode_frame_at(data, offset)
        except FrameError as error:
            if error.cut_off and torn is None:
                torn = offset
            offset = _next_candidate(data, offset + 1)
            continue
        if offset > good_end:
            yield Damage(good_end, offset - good_end)
        yield ScannedFrame(offset, frame)
        offset = good_end = offset + len(frame.bytes)
        torn = None
    damage_end = len(data) if torn is None else torn
    if damage_end > good_end:
        yield Damage(good_end, damage_end - good_end)
    if torn is not None:
        yield TornTail(torn, len(data) - torn)


def _next_candidate(data: bytes, start: int) -> int:
    """The next place where a whole magic stands, or the beginning of one at the very end."""
    found = data.find(MAGIC, start)
    if found >= 0:
        return found
    for length in range(len(MAGIC) - 1, 0, -1):
        if len(data) - length >= start and data.endswith(MAGIC[:length]):
            return len(data) - length
    return len(data)


def decode_stream_seq(payload: bytes) -> tuple[int, int]:
    """(stream_id, seq): the two leading fields of a sequenced message, read without protobuf."""
    if len(payload) < 11 or payload[0] != 0x09 or payload[9] != 0x10:
        raise FrameError("expected stream_id and seq at the start of a sequenced message")
    (stream_id,) = struct.unpack_from("<Q", payload, 1)
    seq = shift = 0
    for byte in payload[10:20]:
        seq |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    else:
        raise FrameError("expected a varint of at most 10 bytes as seq")
    if not 0 < seq < 1 << 64:
        raise FrameError(f"expected a seq of 1 or more in 64 bits, found {seq}")
    return stream_id, seq
