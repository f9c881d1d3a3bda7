#!/usr/bin/python3
"""Holds every #include of the project to the picture of rooms in docs/design.md, and every file to its size budget.

    check_layers.py [ROOT]        checks the tree at ROOT; prints one line a violation; exits 1 when there is one
    check_layers.py --self-test   shows that wrong includes, long files and stale documents are caught
"""

import re
import sys
import tempfile
import unittest
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

MAX_LINES = 400
# Files over the budget: path -> why it is not split.
LONG_FILES: dict[str, str] = {}
READING_ORDER = "docs/life_of_a_value.md"


@dataclass(frozen=True)
class Room:
    rooms: frozenset[str]  # whose headers it may include, besides its own
    libraries: frozenset[str]


def room(rooms: str, libraries: str) -> Room:
    return Room(frozenset(rooms.split()), frozenset(libraries.split()))


ANYTHING = Room(frozenset({"*"}), frozenset({"*"}))
ROOMS = {
    "frame": room("", "expected xxhash"),
    "sender": room("frame", "expected fmt protozero xxhash zmq zstd"),
    "collector": room("frame proto", "expected fmt json protobuf re2 spdlog sqlite xxhash zmq zstd lz4 boost curl"),
    "tools": room("frame proto sender collector", "cli11 expected fmt json protobuf spdlog zmq zstd"),
    "examples": ANYTHING,
    "tests": ANYTHING,
    "bench": ANYTHING,
}
# No room may include these.
ABOVE_ALL = frozenset({"examples", "tests", "bench"})

# First matching pattern names the library that a header belongs to.
LIBRARIES = {
    "zmq*": "zmq",
    "google/protobuf/*": "protobuf",
    "protozero/*": "protozero",
    "fmt/*": "fmt",
    "spdlog/*": "spdlog",
    "CLI/*": "cli11",
    "nlohmann/*": "json",
    "tl/*": "expected",
    "xxhash.h": "xxhash",
    "xxh3.h": "xxhash",
    "zstd*.h": "zstd",
    "lz4*.h": "lz4",
    "sqlite3.h": "sqlite",
    "re2/*": "re2",
    "boost/*": "boost",
    "curl/*": "curl",
    "gtest/*": "gtest",
    "gmock/*": "gtest",
    "benchmark/*": "benchmark",
}
SYSTEM = re.compile(
    r"[a-z_0-9]+"  # the C++ library
    r"|(sys|linux|net|netinet|arpa|asm)/[a-z_0-9]+\.h"
    r"|(cpuid|ctype|dirent|dlfcn|errno|fcntl|float|ftw|grp|inttypes|limits|locale|math|memory|netdb|poll|pthread|pwd"
    r"|sched|semaphore|signal|spawn|stdarg|stdbool|stddef|stdint|stdio|stdlib|string|termios|time|unistd|x86intrin|immintrin)\.h"
)
# All zmq sockets of a process live in one thread, so few files may know them.
ZMQ_FILES = (
    "sender/uplink*",
    "collector/receiver*",
    "collector/security/curve*",
    "collector/sockets*",
    "tools/*tap*",
    "tools/bench_*",
)

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def library_of(header: str) -> str | None:
    return next((name for pattern, name in LIBRARIES.items() if fnmatch(header, pattern)), None)


def check_room_include(path: str, own: str, header: str) -> str | None:
    allowed = ROOMS[own].rooms
    target = header.split("/", 1)[0]
    if "*" in allowed or target == own or target in allowed:
        return None
    if target in ABOVE_ALL:
        return f"{path}: includes {header}, but no room may use {target}/"
    expected = ", ".join(f"{name}/" for name in sorted(allowed | {own}))
    return f"{path}: includes {header}; expected only headers of {expected}"


def check_library_include(path: str, own: str, header: str) -> str | None:
    allowed = ROOMS[own].libraries
    library = library_of(header)
    if library is None:
        if SYSTEM.fullmatch(header) or "*" in allowed:
            return None
        return f"{path}: includes <{header}> of an unknown library; add it to tests/check_layers.py and docs/design.md"
    if "*" not in allowed and library not in allowed:
        return f"{path}: includes <{header}> of {library}; {own}/ may use {', '.join(sorted(allowed))}"
    if library == "zmq" and "*" not in allowed and not any(fnmatch(path, pattern) for pattern in ZMQ_FILES):
        return f"{path}: includes <{header}>; sockets belong to {', '.join(ZMQ_FILES)}"
    return None


def check_includes(path: str, text: str) -> list[str]:
    own = path.split("/", 1)[0]
    problems = []
    for quote, header in INCLUDE.findall(text):
        target = header.split("/", 1)[0]
        if "/" in header and (target in ROOMS or target == "proto"):
            problems.append(check_room_include(path, own, header))
        elif quote == "<":
            problems.append(check_library_include(path, own, header))
        elif own not in ("tests", "bench") and not header.endswith(".inc"):
            problems.append(f'{path}: includes "{header}"; expected the path from the root, "{own}/{header}"')
    return [problem for problem in problems if problem]


def check_size(path: str, text: str) -> list[str]:
    lines = text.count("\n")
    if lines > MAX_LINES and path not in LONG_FILES:
        return [f"{path}: {lines} lines; expected at most {MAX_LINES}: split it by meaning"]
    if lines <= MAX_LINES and path in LONG_FILES:
        return [f"{path}: {lines} lines fit the budget; take it out of LONG_FILES in tests/check_layers.py"]
    return []


def check_reading_order(root: Path) -> list[str]:
    """The numbered entries count up from 1, and every file named in backquotes exists."""
    document = root / READING_ORDER
    if not document.exists():
        return [f"{READING_ORDER}: expected the reading order, found no such file"]
    text = document.read_text(encoding="utf-8")
    problems = []
    numbers = [int(number) for number in re.findall(r"^(\d+)\. ", text, re.MULTILINE)]
    if numbers != list(range(1, len(numbers) + 1)):
        problems.append(f"{READING_ORDER}: expected entries numbered 1, 2, 3 …, found {numbers}")
    for name in re.findall(r"`([A-Za-z0-9_.]+/[A-Za-z0-9_./]*[A-Za-z0-9_])`", text):
        if not (root / name).exists():
            problems.append(f"{READING_ORDER}: names a file that does not exist: {name}")
    return problems


def check_tree(root: Path) -> list[str]:
    problems = []
    for name in ROOMS:
        for file in sorted((root / name).rglob("*")):
            if file.suffix not in (".h", ".cc", ".c") or not file.is_file():
                continue
            path = file.relative_to(root).as_posix()
            text = file.read_text(encoding="utf-8")
            problems += check_includes(path, text) + check_size(path, text)
    return problems + check_reading_order(root)


class CheckLayers(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.write(READING_ORDER, "1. `frame/codec.h` the codec\n")
        self.write("frame/codec.h", "#include <vector>\n")

    def write(self, path: str, text: str) -> None:
        file = Path(self.folder.name) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def assert_one_problem(self, path: str, text: str, words: str) -> None:
        self.write(path, text)
        problems = check_tree(Path(self.folder.name))
        self.assertEqual(len(problems), 1, problems)
        self.assertIn(words, problems[0])

    def assert_clean(self, path: str, text: str) -> None:
        self.write(path, text)
        self.assertEqual(check_tree(Path(self.folder.name)), [])

    def test_sender_may_use_frame(self) -> None:
        self.assert_clean("sender/run.cc", '#include "frame/codec.h"\n#include <protozero/types.hpp>\n#include <sys/mman.h>\n')

    def test_sender_may_not_use_the_generated_header(self) -> None:
        self.assert_one_problem("sender/run.cc", '#include "proto/sideband.pb.h"\n', "proto/sideband.pb.h")

    def test_sender_may_not_use_protobuf(self) -> None:
        self.assert_one_problem("sender/run.cc", "#include <google/protobuf/message.h>\n", "of protobuf")

    def test_collector_may_not_use_sender(self) -> None:
        self.assert_one_problem("collector/store/log.cc", '#include "sender/ring.h"\n', "expected only headers of")

    def test_angle_brackets_do_not_hide_a_room(self) -> None:
        self.assert_one_problem("collector/store/log.cc", "#include <sender/ring.h>\n", "expected only headers of")

    def test_frame_may_use_no_room(self) -> None:
        self.assert_one_problem("frame/scanner.cc", '#include "collector/collector.h"\n', "expected only headers of frame/")

    def test_no_room_may_use_tests(self) -> None:
        self.assert_one_problem("tools/dump.cc", '#include "tests/frame/frames.h"\n', "no room may use tests/")

    def test_sockets_stay_in_their_files(self) -> None:
        self.assert_one_problem("sender/spool.cc", "#include <zmq.h>\n", "sockets belong to")

    def test_the_uplink_may_use_sockets(self) -> None:
        self.assert_clean("sender/uplink.cc", "#include <zmq.hpp>\n")

    def test_unknown_libraries_are_named(self) -> None:
        self.assert_one_problem("tools/dump.cc", "#include <absl/strings/str_cat.h>\n", "unknown library")

    def test_includes_are_written_from_the_root(self) -> None:
        self.assert_one_problem("sender/run.cc", '#include "ring.h"\n', '"sender/ring.h"')

    def test_indented_includes_are_seen(self) -> None:
        self.assert_one_problem("sender/run.cc", '  # include "tools/dump.h"\n', "tools/dump.h")

    def test_long_files_are_named(self) -> None:
        self.assert_one_problem("frame/long.cc", "\n" * (MAX_LINES + 1), "split it by meaning")

    def test_a_missing_file_in_the_reading_order_is_named(self) -> None:
        self.assert_one_problem(READING_ORDER, "1. `frame/gone.h` was here\n", "does not exist: frame/gone.h")

    def test_a_wrong_number_in_the_reading_order_is_named(self) -> None:
        self.assert_one_problem(READING_ORDER, "1. `frame/codec.h`\n3. `frame/codec.h`\n", "numbered 1, 2, 3")


def main() -> int:
    if sys.argv[1:2] == ["--self-test"]:
        return 0 if unittest.main(argv=sys.argv[:1], exit=False).result.wasSuccessful() else 1
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    problems = check_tree(root)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
