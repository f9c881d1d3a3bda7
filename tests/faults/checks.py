"""What must hold after a schedule, whatever happened in it, by the independent reader on the collectors' folders."""

import collections
import dataclasses
import pathlib

from contract import END, LOG, SKIP, pb
from points import PointReader, unpack
from reader import read_paths
from record import THREADS, keys_of, origin_of
from scene import FORGED_RANK, Scene, ScheduleFailed, Trainer


@dataclasses.dataclass
class Result:
    points_logged: int = 0
    points_stored: int = 0
    points_dropped: int = 0  # counted in the streams
    points_skipped: int = 0  # in frames that a SKIP stands for


@dataclasses.dataclass
class StreamFacts:
    """One stream of the merged folders."""

    incarnation: int
    last_seq: int = 0
    points: int = 0
    points_total: int = 0
    drops: int = 0
    ended: bool = False
    skipped: int = 0  # seqs


def check(scene: Scene, costs: frozenset[str]) -> Result:
    """Raises ScheduleFailed with the first thing that is not as promised."""
    folders = [read_folder(path) for path in scene.data_dirs]
    spools = [read_paths(path).reader for path in scene.refused_spools]
    merged = merge([without_forged(reader) for reader in folders + spools])
    streams = stream_facts(merged)
    stored = stored_points(merged)
    result = Result(points_stored=len(stored))
    for trainer in scene.trainers:
        mine = [facts for facts in streams.values() if facts.incarnation == trainer.incarnation]
        check_acknowledged(trainer, streams)
        account(trainer, mine, stored, result)
    if result.points_dropped and "drops" not in costs:
        raise ScheduleFailed(f"expected no dropped points, found {result.points_dropped}")
    if result.points_skipped and "skips" not in costs:
        raise ScheduleFailed(f"expected no points in SKIPs, found {result.points_skipped}: {merged.skips}")
    for data_dir in scene.data_dirs:
        if any(data_dir.rglob("*.log")):  # a collector that was swapped early has stored nothing
            check_verify(scene, data_dir, bool(costs))
    return result


def read_folder(path: pathlib.Path) -> PointReader:
    folder = read_paths(path)
    if folder.damage:
        raise ScheduleFailed(f"expected no damage in a data folder, found {folder.damage}")
    if folder.reader.doubles:
        raise ScheduleFailed(f"expected every frame once, found {folder.reader.doubles} twice: {path}")
    return folder.reader


def without_forged(reader: PointReader) -> PointReader:
    forged = {stream_id for stream_id, _ in reader.frames if reader.config(stream_id).rank == FORGED_RANK}
    reader.frames = {identity: frame for identity, frame in reader.frames.items() if identity[0] not in forged}
    return reader


def merge(readers: list[PointReader]) -> PointReader:
    """All frames of all folders, each stream in order, a real frame in favour of a SKIP; and all SKIPs, for one that gives way
    to a real frame may stand for others, too."""
    frames, skips = {}, []
    for reader in readers:
        for identity, frame in reader.frames.items():
            if frame.msg_type == SKIP:
                skips.append(pb.Skip.FromString(frame.payload))
            if identity not in frames or frames[identity].msg_type == SKIP:
                frames[identity] = frame
    merged, order = PointReader(), Order()
    for identity in sorted(frames):
        known = len(merged.points)
        merged.feed(frames[identity])
        order.take(merged.points[known:])
    merged.skips = skips
    if merged.undecodable or merged.unreadable_points:
        raise ScheduleFailed(
            f"expected to read all that is stored, found {merged.undecodable} undecodable frames and "
            f"{merged.unreadable_points} points without names"
        )
    return merged


class Order:
    """Calls of one thread rise from frame to frame, and within a frame in each key."""

    def __init__(self):
        self._last: dict[tuple[int, str], int] = collections.defaultdict(lambda: -1)  # by stream and thread

    def take(self, points: list) -> None:
        """The points of one frame."""
        calls: dict[tuple[int, str], dict[str, int]] = collections.defaultdict(dict)
        for point in points:
            thread = (point.stream_id, point.key.split("/")[0])
            before = calls[thread].get(point.key, self._last[thread])
            if point.step <= before:
                raise ScheduleFailed(f"{point.key}: expected a call after {before}, found {point.step}")
            calls[thread][point.key] = point.step
        for thread, keys in calls.items():
            self._last[thread] = max(keys.values())


def stream_facts(merged: PointReader) -> dict[int, StreamFacts]:
    streams: dict[int, StreamFacts] = {}
    for (stream_id, seq), frame in merged.frames.items():  # in order
        if stream_id not in streams:
            config = merged.config(stream_id)
            if config is None:
                raise ScheduleFailed(f"expected a CONFIG in stream {stream_id:016x}, found none")
            streams[stream_id] = StreamFacts(config.rank)
        facts = streams[stream_id]
        last_seq = seq
        if frame.msg_type == SKIP:
            last_seq = max(seq, pb.Skip.FromString(frame.payload).to_seq)
            facts.skipped += last_seq - seq + 1
        if not is_skipped(merged.skips, stream_id, facts.last_seq + 1, seq):
            raise ScheduleFailed(
                f"stream {stream_id:016x}: expected seq {facts.last_seq + 1} or a SKIP for it, found {seq} behind it"
            )
        facts.last_seq = max(facts.last_seq, last_seq)
        if frame.msg_type == LOG:
            note_totals(facts, unpacked(frame))
        if frame.msg_type == END:
            note_totals(facts, pb.End.FromString(frame.payload))
            facts.ended = True
    for point in merged.points:
        streams[point.stream_id].points += 1
    return streams


def is_skipped(skips: list, stream_id: int, first: int, end: int) -> bool:
    """Every seq from first to before end is in a SKIP of the stream."""
    for skip in sorted((skip for skip in skips if skip.stream_id == stream_id), key=lambda skip: skip.seq):
        if skip.seq <= first <= skip.to_seq:
            first = skip.to_seq + 1
    return first >= end


def unpacked(frame):
    log = pb.Log.FromString(frame.payload)
    unpack(log)
    return log


def note_totals(facts: StreamFacts, message) -> None:
    facts.points_total = max(facts.points_total, message.points_total)
    if message.drops:
        facts.drops = sum(drop.points for drop in message.drops)


def stored_points(merged: PointReader) -> set[tuple[int, int, int, str]]:
    """(incarnation, thread, call, key) of each point; each must be what its value says, and there once."""
    stored = set()
    for point in merged.points:
        origin = origin_of(point.value)
        identity = (origin.incarnation, origin.thread, origin.call, point.key)
        if point.step != origin.call or not point.key.startswith(f"t{origin.thread}/") or point.rank != origin.incarnation:
            raise ScheduleFailed(f"expected a point of {origin}, found {point}")
        if identity in stored:
            raise ScheduleFailed(f"expected every point once, found twice: {point}")
        stored.add(identity)
    return stored


def check_acknowledged(trainer: Trainer, streams: dict[int, StreamFacts]) -> None:
    """What the child saw committed is stored. A child that began a second stream counts from there."""
    mine = [facts for facts in streams.values() if facts.incarnation == trainer.incarnation]
    committed = trainer.record["committed_seq"]
    if committed and max((facts.last_seq for facts in mine), default=0) < committed:
        raise ScheduleFailed(f"trainer {trainer.incarnation}: seq {committed} was committed, found {mine}")


def account(trainer: Trainer, streams: list[StreamFacts], stored: set, result: Result) -> None:
    """Every point whose log() returned is stored, or in the counts of its streams."""
    missing, logged = [], 0
    for thread in range(THREADS):
        calls = trainer.record.calls()[thread]
        for call in range(calls):
            for key in keys_of(thread, call, trainer.settings.width):
                logged += 1
                if (trainer.incarnation, thread, call, key) not in stored:
                    missing.append((thread, call, key))
        # A child can die between log() and its note.
        if (trainer.incarnation, thread, calls + 1, f"t{thread}/scalar") in stored:
            raise ScheduleFailed(f"trainer {trainer.incarnation}: expected at most {calls + 1} calls of thread {thread}")
    dropped = sum(facts.drops for facts in streams)
    skipped = sum(facts.points_total - facts.points for facts in streams)
    if len(missing) != dropped + skipped:
        raise ScheduleFailed(
            f"trainer {trainer.incarnation}: {logged} points logged, {len(missing)} not stored, first {missing[:1]}, last "
            f"{missing[-1:]}; accounted for are {dropped} drops, {skipped} in SKIPs"
        )
    if not trainer.was_killed and not any(facts.ended for facts in streams):
        raise ScheduleFailed(f"trainer {trainer.incarnation}: expected END, found none in {len(streams)} streams")
    result.points_logged += logged
    result.points_dropped += dropped
    result.points_skipped += skipped


def check_verify(scene: Scene, data_dir: pathlib.Path, lossy: bool) -> None:
    told = scene.tool("verify", "--data-dir", data_dir)
    if told.returncode not in ((0, 3) if lossy else (0,)):
        raise ScheduleFailed(f"verify: expected exit 0, found {told.returncode}: {told.stdout[-800:]}{told.stderr[-400:]}")
