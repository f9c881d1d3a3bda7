"""Where a sender keeps its frames until COMMIT covers them: in memory, or in a spool folder that outlives the process.

A store holds consecutive seqs from oldest_seq to head_seq, in segments that each begin with a CONFIG. Trimming frees
whole segments, never the last one.
"""

import dataclasses
import os
import pathlib

from contract import CONFIG, END, FILE, is_sequenced, pb
from sideband_frames import FrameError, ScannedFrame, decode_frame, encode_frame, scan


@dataclasses.dataclass
class _Segment:
    first_seq: int
    frames: list[bytes] = dataclasses.field(default_factory=list)

    @property
    def last_seq(self) -> int:
        return self.first_seq + len(self.frames) - 1


class FrameStore:
    """Frames in memory: enough for a sender that may lose its tail when it dies."""

    def __init__(self):
        self.segments: list[_Segment] = []

    @property
    def head_seq(self) -> int:
        return self.segments[-1].last_seq if self.segments else 0

    @property
    def oldest_seq(self) -> int:
        return self.segments[0].first_seq if self.segments else 1

    def begin_segment(self, first_seq: int) -> None:
        self.segments.append(_Segment(first_seq))

    def append(self, seq: int, frame: bytes) -> None:
        if seq != self.head_seq + 1:
            raise ValueError(f"append a frame: expected seq {self.head_seq + 1}, found {seq}")
        self.segments[-1].frames.append(frame)

    def get(self, seq: int) -> bytes:
        segment = self._segment_of(seq)
        return segment.frames[seq - segment.first_seq]

    def replace(self, seq: int, frame: bytes) -> None:
        """Puts other bytes in the place of a frame: for tests that damage a spool."""
        segment = self._segment_of(seq)
        segment.frames[seq - segment.first_seq] = frame

    def keyframe(self, seq: int) -> bytes:
        """The CONFIG that begins the segment of `seq`, or of the nearest frame that the store holds."""
        return self._segment_of(min(max(seq, self.oldest_seq), self.head_seq)).frames[0]

    def is_ended(self) -> bool:
        """The last frame is END."""
        return self.head_seq > 0 and decode_frame(self.get(self.head_seq)).msg_type == END

    def trim(self, committed_seq: int) -> None:
        while len(self.segments) > 1 and self.segments[0].last_seq <= committed_seq:
            self._delete(self.segments.pop(0))

    def _segment_of(self, seq: int) -> _Segment:
        return next(s for s in self.segments if s.first_seq <= seq <= s.last_seq)

    def _delete(self, segment: _Segment) -> None:
        """Memory needs nothing more."""


class SpoolFolder(FrameStore):
    """The same on disk: one file of frames for each segment, FILE first.

    The frames stay in memory too: the folder is for the next process, not for large spools.
    """

    def __init__(self, folder: pathlib.Path, spool_id: bytes, stream_id: int, run_id: str):
        super().__init__()
        self.folder, self.spool_id, self.stream_id, self.run_id = folder, spool_id, stream_id, run_id
        self._paths: dict[int, pathlib.Path] = {}  # by first_seq
        self._next_number = 1
        self._file = None
        folder.mkdir(parents=True, exist_ok=True)

    @classmethod
    def reopen(cls, folder: pathlib.Path) -> "SpoolFolder":
        """What an earlier process left, ready for more frames. A torn tail is cut off."""
        store = None
        for path in sorted(folder.glob("segment-*.log")):
            found = [item for item in scan(path.read_bytes()) if isinstance(item, ScannedFrame)]
            header = pb.File.FromString(found[0].frame.payload)
            if store is None:
                store = cls(folder, header.spool_id, header.stream_id, header.run_id)
            frames = [item.frame.bytes for item in found if is_sequenced(item.frame.msg_type)]
            store.segments.append(_Segment(header.first_seq, frames))
            store._paths[header.first_seq] = path
            store._next_number = header.segment + 1
            good_bytes = found[-1].offset + len(found[-1].frame.bytes)
        if store is None:
            raise FrameError(f"reopen a spool: expected segment files, found none in {folder}")
        os.truncate(path, good_bytes)
        store._file = open(path, "ab", buffering=0)
        return store

    def begin_segment(self, first_seq: int) -> None:
        super().begin_segment(first_seq)
        header = pb.File(
            format_version=1, kind=pb.File.KIND_SPOOL, segment=self._next_number, run_id=self.run_id,
            program="sideband-independent 1", spool_id=self.spool_id, stream_id=self.stream_id, first_seq=first_seq,
        )  # fmt: skip
        path = self._paths[first_seq] = self.folder / f"segment-{self._next_number:06d}.log"
        self._next_number += 1
        self.close()
        self._file = open(path, "xb", buffering=0)
        self._file.write(encode_frame(FILE, header.SerializeToString()))

    def append(self, seq: int, frame: bytes) -> None:
        """The frame survives the process, not a power cut."""
        self._file.write(frame)
        super().append(seq, frame)

    def next_open_count(self) -> int:
        """How often the spool was opened, this time included; kept beside the segments."""
        path = self.folder / "open_count"
        count = int(path.read_text()) + 1 if path.exists() else 1
        new = path.with_suffix(".new")
        new.write_text(str(count))
        os.replace(new, path)
        return count

    def close(self) -> None:
        if self._file:
            self._file.close()

    def _delete(self, segment: _Segment) -> None:
        self._paths.pop(segment.first_seq).unlink()


def config_of(store: FrameStore):
    """The CONFIG that holds for the end of the store."""
    frame = decode_frame(store.keyframe(store.head_seq))
    if frame.msg_type != CONFIG:
        raise FrameError(f"read a segment: expected CONFIG as its first frame, found type {frame.msg_type:#04x}")
    return pb.Config.FromString(frame.payload)
