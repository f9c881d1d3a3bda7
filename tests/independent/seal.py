"""The end of a closed file: its SEAL frames and what they say, by docs/format.md, section 7."""

from contract import SEAL, pb
from sideband_frames import HEADER, ScannedFrame, scan

MAX_SEAL_BYTES = 67_108_864


def read_seal(data: bytes) -> list | None:
    """The Seal messages of a sealed file; None if it is not sealed."""
    seal_bytes = int.from_bytes(data[-4:], "little")
    if not HEADER.size <= seal_bytes <= min(MAX_SEAL_BYTES, len(data)):
        return None
    items = list(scan(data[-seal_bytes:]))
    if not all(isinstance(item, ScannedFrame) and item.frame.msg_type == SEAL for item in items):
        return None
    seals = [pb.Seal.FromString(item.frame.payload) for item in items]
    if any(seal.file_bytes + seal_bytes != len(data) for seal in seals):
        return None
    return seals


def positions_of(seals: list) -> dict[int, int]:
    """The last seq of each stream."""
    return {position.stream_id: position.last_seq for seal in seals for position in seal.streams}
