"""What the tests here share: arguments from ctest, the sample's points, the real collector as a process."""

import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import sample
from points import Point, PointReader
from stream_writer import row_wall_us

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE.parent / "golden"
START_DEADLINE_S = 30


def run_tests() -> None:
    """unittest.main, after the arguments `--NAME=PATH` were taken out: binary("NAME") gives them."""
    for argument in [a for a in sys.argv if a.startswith("--") and "=" in a]:
        sys.argv.remove(argument)
        name, path = argument[2:].split("=", 1)
        set_binary(name, path)
    unittest.main(verbosity=2)


_binaries: dict[str, str] = {}


def set_binary(name: str, path: str) -> None:
    _binaries[name] = path


def binary(name: str) -> str:
    if name not in _binaries:
        raise SystemExit(f"expected the argument --{name}=PATH; run this test through ctest")
    return _binaries[name]


def run_sender(control: str, *more: str) -> subprocess.Popen:
    """sender.py as a process of its own."""
    return subprocess.Popen([sys.executable, str(HERE / "sender.py"), "--connect", control, *more])


def run_cpp_sender(
    control: str, spool_dir: pathlib.Path, project: str, run_id: str, points: int, keys: int, seed: int, deadline_ms: int
) -> subprocess.Popen:
    """cpp_sender, with nothing of a launcher's environment: the run id and the rank must be those asked for."""
    environment = {name: value for name, value in os.environ.items() if name == "PATH" or name.endswith("SAN_OPTIONS")}
    environment |= {
        "SIDEBAND_COLLECTOR": control, "SIDEBAND_RUN_ID": run_id, "SIDEBAND_SPOOL_DIR": str(spool_dir),
    }  # fmt: skip
    arguments = [binary("cpp_sender"), project, *map(str, (points, keys, seed, deadline_ms))]
    return subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, text=True)


def sample_values(seed: int, points: int, keys: int) -> dict[str, list[tuple[int, int, sample.Value]]]:
    """What sender.py logs: (step, wall µs, value) by key, in order."""
    rows = range(points // keys)
    return {
        sample.key(column): [(sample.step(seed, row), row_wall_us(row), sample.value(seed, row, column)) for row in rows]
        for column in range(keys)
    }


class PointsCase(unittest.TestCase):
    """Comparisons of points that tell the first difference instead of two long lists."""

    maxDiff = 2_000

    def assert_sample(self, reader: PointReader, seed: int, points: int, keys: int, stream_id: int | None = None) -> None:
        """Exactly the points of sender.py, bit for bit, in order."""
        found = by_key([p for p in reader.points if stream_id in (None, p.stream_id)])
        expected = sample_values(seed, points, keys)
        self.assertEqual(sorted(found), sorted(expected))
        for key, values in expected.items():
            self.assert_values(key, [(p.step, p.time_wall_us, p.value) for p in found[key]], values)

    def assert_values(self, key: str, found: list[tuple], expected: list[tuple]) -> None:
        self.assertEqual(len(found), len(expected), key)
        for index, (left, right) in enumerate(zip(found, expected)):
            if left[:-1] != right[:-1] or not sample.same(left[-1], right[-1]):
                self.fail(f"{key}, point {index}: expected {right}, found {left}")


class TrainersCase(PointsCase):
    """Trainers whose spools lie in a folder of the test's own, `spool` in `self.folder`."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def tearDown(self):
        """What trainers that were killed left in shared memory."""
        for spool in (self.folder / "spool").glob("*"):
            shutil.rmtree(f"/dev/shm/sideband-{os.geteuid()}/{spool.name}", ignore_errors=True)


def by_key(points: list[Point]) -> dict[str, list[Point]]:
    series: dict[str, list[Point]] = {}
    for point in points:
        series.setdefault(point.key, []).append(point)
    return series


class RealCollector:
    """`sideband collect` on ports of the system's choice, in a data folder of its own."""

    def __init__(self, data_dir: pathlib.Path, *flags: str, environment: dict[str, str] | None = None):
        self.data_dir, self.flags = data_dir, flags
        self.environment = environment or {}  # added to ours
        self.process = None

    def __enter__(self) -> "RealCollector":
        self.open_log()
        self.start()
        return self

    def __exit__(self, *_) -> None:
        if self.is_running():
            self.stop()
        self.close()

    def open_log(self) -> None:
        self._log = tempfile.TemporaryFile()

    def close(self) -> None:
        self._log.close()

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        self.process = subprocess.Popen(
            [binary("sideband"), "collect", "--print-endpoints", "--data-dir", str(self.data_dir),
             "--control", "tcp://127.0.0.1:0", "--data", "tcp://127.0.0.1:0", "--tap", "tcp://127.0.0.1:0", *self.flags],
            stdout=subprocess.PIPE, stderr=self._log, env=os.environ | self.environment,
        )  # fmt: skip
        endpoints = json.loads(self._read_line())
        self.control, self.data, self.tap = endpoints["control"], endpoints["data"], endpoints["tap"]
        self.connect, self.connect_tap = endpoints["connect"], endpoints["connect_tap"]  # with keys

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def ask_to_stop(self) -> None:
        """SIGTERM, without waiting for the end."""
        self.process.send_signal(signal.SIGTERM)

    def stop(self) -> int:
        """A clean stop; the exit status."""
        self.ask_to_stop()
        status = self.process.wait(START_DEADLINE_S)
        self.process.stdout.close()
        return status

    def log(self) -> str:
        """What it wrote to stderr so far."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace")

    def _read_line(self) -> bytes:
        line, end = b"", time.monotonic() + START_DEADLINE_S
        while not line.endswith(b"\n") and time.monotonic() < end and self.process.poll() is None:
            if select.select([self.process.stdout], [], [], 0.1)[0]:
                line += os.read(self.process.stdout.fileno(), 4096)
        if not line:
            raise AssertionError(f"start the collector: expected a line with its endpoints, found none; {self.log()}")
        return line
