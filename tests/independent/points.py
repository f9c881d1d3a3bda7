"""Frames to points: definitions, deltas, anchors, columns, compressed batches, as proto/sideband.proto says."""

import dataclasses

import zstandard
from google.protobuf.message import DecodeError

from contract import CONFIG, END, LOG, MESSAGE_OF_TYPE, SKIP, is_sequenced, pb
from sample import Value
from sideband_frames import Frame, FrameError, decode_stream_seq

MAX_RAW_BYTES = 4_194_304


@dataclasses.dataclass(frozen=True)
class Point:
    stream_id: int
    rank: int
    key: str
    step: int
    time_wall_us: int
    time_monotonic_us: int
    value: Value


@dataclasses.dataclass
class _StreamNames:
    config: object = None
    keys: dict[int, str] = dataclasses.field(default_factory=dict)
    tables: dict[int, object] = dataclasses.field(default_factory=dict)


class PointReader:
    """Takes frames of any streams, each stream in order; drops what it has seen by (stream_id, seq)."""

    def __init__(self):
        self.points: list[Point] = []
        self.texts: list[str] = []
        self.frames: dict[tuple[int, int], Frame] = {}
        self.doubles = 0  # frames that came again
        self.undecodable = 0
        self.unreadable_points = 0  # in rows that do not fit their table
        self.ends: dict[int, object] = {}  # END by stream id
        self.skips: list[object] = []
        self._streams: dict[int, _StreamNames] = {}

    def feed(self, frame: Frame) -> None:
        if not is_sequenced(frame.msg_type):
            return
        identity = decode_stream_seq(frame.payload)
        if identity in self.frames and self.frames[identity].msg_type != SKIP:
            self.doubles += 1
            return
        self.frames[identity] = frame
        try:
            self._read(identity[0], frame)
        except (FrameError, DecodeError, zstandard.ZstdError):
            self.undecodable += 1

    def config(self, stream_id: int):
        return self._streams[stream_id].config

    def _read(self, stream_id: int, frame: Frame) -> None:
        names = self._streams.setdefault(stream_id, _StreamNames())
        if frame.msg_type not in MESSAGE_OF_TYPE:
            return
        message = MESSAGE_OF_TYPE[frame.msg_type].FromString(frame.payload)
        if frame.msg_type == CONFIG:
            names.config = message
        elif frame.msg_type == LOG:
            self._read_log(names, message)
        elif frame.msg_type == SKIP:
            self.skips.append(message)
        elif frame.msg_type == END:
            self.ends[stream_id] = message

    def _read_log(self, names: _StreamNames, log) -> None:
        unpack(log)
        names.keys.update((key.key_id, key.key) for key in log.keys)
        names.tables.update((table.table_id, table) for table in log.tables)
        self.texts += [line.text for line in log.text]
        for rows in log.rows:
            try:
                self._read_rows(names, log, rows)
            except FrameError:
                self.unreadable_points += rows.row_count * len(rows.columns)

    def _read_rows(self, names: _StreamNames, log, rows) -> None:
        if rows.table_id not in names.tables:
            raise FrameError(f"seq {log.seq}: expected the definition of table {rows.table_id} before its rows")
        table = names.tables[rows.table_id]
        if len(table.kinds) not in (0, len(table.key_ids)):
            raise FrameError(f"seq {log.seq}: expected {len(table.key_ids)} kinds, found {len(table.kinds)}")
        if len(rows.columns) != len(table.key_ids) or any(key_id not in names.keys for key_id in table.key_ids):
            raise FrameError(f"seq {log.seq}: expected {len(table.key_ids)} columns of known keys")
        times = times_of(rows)  # first: it holds row_count to the bytes that are there
        steps = steps_of(rows)
        walls = [wall_us(log.anchors, time) for time in times]
        kinds = table.kinds or [pb.VALUE_KIND_FLOAT] * len(table.key_ids)
        columns = [values_of(column, kind, rows.row_count) for column, kind in zip(rows.columns, kinds, strict=True)]
        rank = names.config.rank if names.config else 0
        for key_id, values in zip(table.key_ids, columns):
            for step, wall, time, value in zip(steps, walls, times, values):
                self.points.append(Point(log.stream_id, rank, names.keys[key_id], step, wall, time, value))


def unpack(log) -> None:
    """Puts the fields of zstd_batch behind the message's own."""
    if not log.zstd_batch:
        return
    if log.raw_bytes > MAX_RAW_BYTES:
        raise FrameError(f"seq {log.seq}: expected at most {MAX_RAW_BYTES} raw bytes, found {log.raw_bytes}")
    raw = zstandard.ZstdDecompressor().decompress(log.zstd_batch, max_output_size=log.raw_bytes)
    inner = pb.Log.FromString(raw)
    if len(raw) != log.raw_bytes or inner.zstd_batch:
        raise FrameError(f"seq {log.seq}: expected one batch of {log.raw_bytes} raw bytes, found {len(raw)}")
    log.MergeFrom(inner)


def values_of(column, kind: int, count: int) -> list[Value]:
    """The one field of a column that is filled, which must be of its key's kind."""
    fields = ("int_values",) if kind == pb.VALUE_KIND_INT else ("float_values", "double_values")
    filled = [field.name for field, _ in column.ListFields()]
    if len(filled) != 1 or filled[0] not in fields:
        raise FrameError(f"expected {' or '.join(fields)} in a column, found {filled}")
    values = getattr(column, filled[0])
    if len(values) != count:
        raise FrameError(f"expected {count} values in a column, found {len(values)}")
    return list(values)


def steps_of(rows) -> list[int]:
    if not rows.step_deltas:
        return [_wrap(rows.first_step + row * rows.step_stride) for row in range(rows.row_count)]
    return _running_sums(rows.first_step, rows.step_deltas, rows.row_count, "step_deltas")


def times_of(rows) -> list[int]:
    return _running_sums(rows.first_time_monotonic_us, rows.time_deltas_us, rows.row_count, "time_deltas_us")


def wall_us(anchors, monotonic_us: int) -> int:
    """By the last anchor that is not later than the point, else the first."""
    if not anchors:
        raise FrameError("expected an anchor in a frame that holds times")
    monotonic_ns = _wrap(monotonic_us * 1000)
    earlier = [anchor for anchor in anchors if anchor.monotonic_ns <= monotonic_ns]
    anchor = earlier[-1] if earlier else anchors[0]
    return _wrap(anchor.wall_ns + monotonic_ns - anchor.monotonic_ns) // 1000


def _running_sums(first: int, deltas, count: int, name: str) -> list[int]:
    if len(deltas) != count - 1:
        raise FrameError(f"expected {count - 1} {name}, found {len(deltas)}")
    sums = [first]
    for delta in deltas:
        sums.append(_wrap(sums[-1] + delta))
    return sums


def _wrap(number: int) -> int:
    """As int64 wraps around."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)
