"""Reads what a collector stored or publishes, written from the documents alone; also a script:

    reader.py PATH…                       points of frame files or of folders of them, as CSV
    reader.py --tap tcp://127.0.0.1:5126 [--topic project/run/] [--seconds 10]

Exit 0: everything was whole. 3: there was damage, named on stderr.
"""

import argparse
import dataclasses
import pathlib
import re
import sys
import time
from collections.abc import Callable

import zmq

import connect_line

from points import Point, PointReader
from sideband_frames import Damage, ScannedFrame, TornTail, decode_frame, scan


@dataclasses.dataclass
class Folder:
    """Everything below a path: the points, and what was wrong."""

    reader: PointReader
    damage: list[tuple[pathlib.Path, Damage]] = dataclasses.field(default_factory=list)
    torn: list[tuple[pathlib.Path, TornTail]] = dataclasses.field(default_factory=list)


def read_paths(*paths: pathlib.Path) -> Folder:
    """Files in the order of their names: segment numbers are padded, so that is the order of arrival."""
    folder = Folder(PointReader())
    for path in paths:
        for file in [path] if path.is_file() else sorted(path.rglob("*.log")):
            _read_file(file, folder)
    return folder


def _read_file(file: pathlib.Path, folder: Folder) -> None:
    for item in scan(file.read_bytes()):
        match item:
            case ScannedFrame(_, frame):
                folder.reader.feed(frame)
            case Damage():
                folder.damage.append((file, item))
            case TornTail():
                folder.torn.append((file, item))


def topic_of(project: str, run_id: str) -> bytes:
    """What a tap message of this run begins with."""
    return f"{_escape(project)}/{_escape(run_id)}/".encode()[:245]


def _escape(name: str) -> str:
    return re.sub(rb"[^A-Za-z0-9._-]", lambda found: b"%%%02X" % ord(found[0]), name.encode()).decode()


class Tap:
    """A subscription to the tap: feeds a PointReader."""

    def __init__(self, line: str, topic: bytes = b""):
        self.reader = PointReader()
        self.topics: set[bytes] = set()
        self._context = zmq.Context()
        self._sub = self._context.socket(zmq.SUB)
        self._sub.setsockopt(zmq.LINGER, 0)
        self._sub.setsockopt(zmq.RCVHWM, 0)
        self._sub.setsockopt(zmq.SUBSCRIBE, topic)
        connect_line.connect(self._sub, *connect_line.split(line))

    def __enter__(self) -> "Tap":
        return self

    def __exit__(self, *_) -> None:
        self._sub.close()
        self._context.term()

    def run_until(self, done: Callable[[], bool], deadline_s: float) -> bool:
        end = time.monotonic() + deadline_s
        while not done() and time.monotonic() < end:
            if self._sub.poll(20):
                topic, frame = self._sub.recv_multipart()
                self.topics.add(topic)
                self.reader.feed(decode_frame(frame))
        return done()


def print_points(points: list[Point]) -> None:
    print("key,step,time,value,rank")
    for point in points:
        print(f"{point.key},{point.step},{point.time_wall_us / 1e6:.6f},{point.value!r},{point.rank}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=pathlib.Path)
    parser.add_argument("--tap")
    parser.add_argument("--topic", default="")
    parser.add_argument("--seconds", type=float, default=10)
    arguments = parser.parse_args()
    if arguments.tap:
        with Tap(arguments.tap, arguments.topic.encode()) as tap:
            tap.run_until(lambda: False, arguments.seconds)
        print_points(tap.reader.points)
        return 0
    folder = read_paths(*arguments.paths)
    print_points(folder.reader.points)
    for file, item in folder.torn:
        print(f"reader: {item.bytes} bytes of an unfinished frame at {item.offset}: {file}", file=sys.stderr)
    for file, item in folder.damage:
        print(f"reader: {item.bytes} damaged bytes at {item.offset}: {file}", file=sys.stderr)
    return 3 if folder.damage else 0


if __name__ == "__main__":
    sys.exit(main())
