"""One process's ordered frames: CONFIG, definitions, LOG batches, END, each with the next seq.

Deterministic: ids come from the caller, times from the row numbers.
"""

import dataclasses
import struct

import zstandard

import sample
from contract import CONFIG, END, LOG, pb
from frame_store import FrameStore
from sideband_frames import encode_frame

LIBRARY = "sideband-independent 1"
OPENED_WALL_NS = 1_700_000_000_000_000_000
OPENED_MONOTONIC_NS = 1_000_000_000
ROW_INTERVAL_US = 250


@dataclasses.dataclass
class Identity:
    stream_id: int
    spool_id: bytes
    project: str
    run_id: str
    run_name: str = ""
    user: str = "tester"
    rank: int = 0
    world_size: int = 1
    host: str = "host-0"
    pid: int = 1


class StreamWriter:
    """Appends whole frames to a store. `rows_per_keyframe`: how often a segment ends and definitions come again."""

    def __init__(self, identity: Identity, store: FrameStore, keys: int, seed: int, zstd: bool = False):
        self.identity, self.store, self.keys, self.seed, self.zstd = identity, store, keys, seed, zstd
        self.rows = 0
        self._keyframe_seq = 0

    @property
    def points(self) -> int:
        return self.rows * self.keys

    def begin_segment(self) -> None:
        """CONFIG and every definition made so far."""
        seq = self._keyframe_seq = self.store.head_seq + 1
        self.store.begin_segment(seq)
        self._append(CONFIG, self._config(seq))
        log = self._log()
        for column in range(self.keys):
            log.keys.add(key_id=column, key=sample.key(column))
        kinds = [pb.VALUE_KIND_INT if sample.is_int(column) else pb.VALUE_KIND_FLOAT for column in range(self.keys)]
        log.tables.add(table_id=0, key_ids=range(self.keys), kinds=kinds)
        self._append(LOG, log)

    def log_rows(self, count: int) -> None:
        """The next `count` rows of the sample in one LOG."""
        first, self.rows = self.rows, self.rows + count
        rows = range(first, self.rows)
        log = self._log()
        log.anchors.add(monotonic_ns=OPENED_MONOTONIC_NS, wall_ns=OPENED_WALL_NS)
        table = log.rows.add(table_id=0, row_count=count, first_time_monotonic_us=row_time_us(first))
        table.time_deltas_us.extend([ROW_INTERVAL_US] * (count - 1))
        steps = [sample.step(self.seed, row) for row in rows]
        table.first_step = steps[0]
        if self.seed % 2 == 0:
            table.step_stride = 10
        else:
            table.step_deltas.extend(after - before for before, after in zip(steps, steps[1:]))
        for column in range(self.keys):
            fill_column(table.columns.add(), [sample.value(self.seed, row, column) for row in rows])
        for row in rows:
            if row % sample.TEXT_EVERY_ROWS == 0:
                log.text.add(time_monotonic_us=row_time_us(row), text=f"row {row} 世界", step=sample.step(self.seed, row))
        self._append(LOG, self._packed(log) if self.zstd else log)

    def end(self, status: int = pb.End.STATUS_FINISHED) -> None:
        seq = self.store.head_seq + 1
        end = pb.End(stream_id=self.identity.stream_id, seq=seq, status=status, points_total=self.points)
        end.ended.CopyFrom(pb.TimeAnchor(
            monotonic_ns=row_time_us(self.rows) * 1000,
            wall_ns=OPENED_WALL_NS + row_time_us(self.rows) * 1000 - OPENED_MONOTONIC_NS,
        ))  # fmt: skip
        self._append(END, end)

    def _append(self, msg_type: int, message) -> None:
        self.store.append(self.store.head_seq + 1, encode_frame(msg_type, message.SerializeToString()))

    def _config(self, seq: int):
        who = self.identity
        config = pb.Config(
            stream_id=who.stream_id, seq=seq, spool_id=who.spool_id, project=who.project, run_id=who.run_id,
            run_name=who.run_name, user=who.user, rank=who.rank, world_size=who.world_size, local_rank=who.rank,
            host=who.host, pid=who.pid, library=LIBRARY,
        )  # fmt: skip
        config.opened.CopyFrom(pb.TimeAnchor(monotonic_ns=OPENED_MONOTONIC_NS, wall_ns=OPENED_WALL_NS))
        config.config.add(path="seed").value.int_value = self.seed
        config.config.add(path="optimizer.lr").value.double_value = 0.1
        config.tags.add(key="independent")
        return config

    def _log(self):
        seq = self.store.head_seq + 1
        return pb.Log(
            stream_id=self.identity.stream_id, seq=seq, keyframe_seq=self._keyframe_seq, points_total=self.points
        )

    def _packed(self, log):
        """The same batch inside zstd_batch."""
        inner = pb.Log()
        inner.CopyFrom(log)
        for field in ("stream_id", "seq", "keyframe_seq", "points_total"):
            inner.ClearField(field)
        raw = inner.SerializeToString()
        outer = pb.Log(
            stream_id=log.stream_id, seq=log.seq, keyframe_seq=log.keyframe_seq, points_total=log.points_total,
            zstd_batch=zstandard.ZstdCompressor().compress(raw), raw_bytes=len(raw),
        )  # fmt: skip
        return outer


def row_time_us(row: int) -> int:
    return OPENED_MONOTONIC_NS // 1000 + row * ROW_INTERVAL_US


def row_wall_us(row: int) -> int:
    return OPENED_WALL_NS // 1000 + row * ROW_INTERVAL_US


def fill_column(column, values: list[sample.Value]) -> None:
    """Floats as float32 when every value survives it bit for bit, else as double."""
    if isinstance(values[0], int):
        column.int_values.extend(values)
    elif all(sample.same(value, struct.unpack("<f", struct.pack("<f", value))[0]) for value in values):
        column.float_values.extend(values)
    else:
        column.double_values.extend(values)
