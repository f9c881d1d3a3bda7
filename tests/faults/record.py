"""The record that a logging child shares with the harness (record.h), and what its calls must have stored."""

import dataclasses
import mmap
import pathlib
import struct

FIELDS = (
    "state", "stop_wanted", "calls_0", "calls_1", "points_logged", "points_dropped", "points_spooled", "head_seq",
    "committed_seq", "reconnects", "delivered", "frames_left", "slowest_call_ns",
)  # fmt: skip
THREADS = 2
SHAPES, PAIRS = 8, 5
STARTING, LOGGING, FINISHING, FINISHED, FAILED = range(5)


class Record:
    """Owned by the harness; the child maps the same file."""

    def __init__(self, path: pathlib.Path):
        path.write_bytes(bytes(8 * len(FIELDS)))
        with open(path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), 8 * len(FIELDS))

    def __getitem__(self, field: str) -> int:
        return struct.unpack_from("<Q", self._map, 8 * FIELDS.index(field))[0]

    def ask_to_stop(self) -> None:
        struct.pack_into("<Q", self._map, 8 * FIELDS.index("stop_wanted"), 1)

    def calls(self) -> list[int]:
        return [self[f"calls_{thread}"] for thread in range(THREADS)]

    def snapshot(self) -> dict[str, int]:
        return {field: self[field] for field in FIELDS}


@dataclasses.dataclass(frozen=True)
class Origin:
    """What a stored value says of itself."""

    incarnation: int
    thread: int
    call: int


def origin_of(value: float) -> Origin:
    bits = int(value)
    return Origin(bits >> 44, bits >> 40 & 0xF, bits & 0xFF_FFFF_FFFF)


def keys_of(thread: int, call: int, width: int) -> list[str]:
    """The keys that a call logs one point under, all at step `call`: as in logging_child.cc."""
    shape = call % SHAPES
    if shape < 5:
        return [f"t{thread}/scalar"]
    if shape < 7:
        return [f"t{thread}/row{column}" for column in range(width)]
    pair = call // SHAPES % PAIRS
    return [f"t{thread}/float{pair}", f"t{thread}/int{pair}"]

