"""The whole way, with every program of the project and the independent reader at its end: a trainer of several processes,
the collector, its folder, its tap, and what the tools say of them.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "independent"))

from reader import Tap, read_paths  # noqa: E402
from support import PointsCase, RealCollector, binary, by_key, run_sender, run_tests  # noqa: E402

DEADLINE_S = 120
RANKS = 2
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]  # where the example finds its data


class Pipeline(PointsCase):
    """One training for all cases: it is the slow part."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        with RealCollector(cls.folder / "data") as collector, Tap(collector.connect_tap) as tap:
            cls.wait_for_tap(collector, tap)
            cls.report = cls.train(collector)
            cls.run_until(tap, lambda: len(tap.reader.ends) == 1 + RANKS)
            cls.tapped = tap.reader
            cls.stop_status = collector.stop()
        cls.stored = read_paths(cls.folder / "data" / "runs" / cls.report["run_id"])

    @classmethod
    def wait_for_tap(cls, collector: RealCollector, tap: Tap) -> None:
        """Only what comes on the tap proves that its subscription has arrived."""
        sender = run_sender(collector.connect, "--project", "first", "--points", "10")
        cls.run_until(tap, lambda: tap.reader.ends)
        if sender.wait(DEADLINE_S) != 0:
            raise AssertionError(f"deliver a first stream: expected exit 0, found {sender.returncode}")

    @classmethod
    def run_until(cls, tap: Tap, done) -> None:
        if not tap.run_until(done, DEADLINE_S):
            raise AssertionError(f"expected more streams to end on the tap, found {len(tap.reader.ends)}")

    @classmethod
    def train(cls, collector: RealCollector) -> dict:
        """`digits` to its end; what it says it logged."""
        environment = {name: os.environ[name] for name in os.environ if name == "PATH" or name.endswith("SAN_OPTIONS")}
        environment |= {"HOME": str(cls.folder), "SIDEBAND_SPOOL_DIR": str(cls.folder / "spool")}
        report = cls.folder / "report.json"
        subprocess.run(
            [binary("digits"), "--ranks", str(RANKS), "--epochs", "3", "--collector", collector.connect,
             "--name", "pipeline", "--report", str(report)],
            cwd=REPOSITORY, env=environment, check=True, timeout=DEADLINE_S, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        return json.loads(report.read_text())

    def tool(self, *arguments: str) -> subprocess.CompletedProcess:
        command = [binary("sideband"), *arguments, "--data-dir", str(self.folder / "data")]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=DEADLINE_S)

    def test_the_collector_stops_cleanly(self):
        self.assertEqual(self.stop_status, 0)

    def test_every_logged_point_is_stored(self):
        self.assertEqual(len(self.stored.reader.points), self.report["points_logged"] - self.report["points_dropped"])
        self.assertEqual((self.stored.damage, self.stored.torn, self.stored.reader.doubles), ([], [], 0))

    def test_nothing_waits_in_a_spool(self):
        self.assertEqual((self.report["frames_left"], list((self.folder / "spool").rglob("segment-*"))), (0, []))

    def test_runs_counts_what_the_trainers_counted(self):
        (run,) = [run for run in json.loads(self.tool("runs", "--json").stdout) if run["id"] == self.report["run_id"]]
        told = (run["name"], run["state"], run["streams"], run["points"], run["lost_points"])
        self.assertEqual(told, ("pipeline", "finished", RANKS, len(self.stored.reader.points), 0))

    def test_verify_finds_everything_whole(self):
        told = self.tool("verify")
        self.assertEqual(told.returncode, 0, told.stdout + told.stderr)

    def test_the_tap_brought_every_point_that_is_stored(self):
        streams = set(self.stored.reader.ends)
        tapped = {(stream_id, seq) for stream_id, seq in self.tapped.frames if stream_id in streams}
        self.assertEqual(tapped, set(self.stored.reader.frames))

    def test_series_holds_the_loss_of_each_rank(self):
        rows = self.tool("series", "pipeline", "train/loss", "--csv").stdout.splitlines()[1:]
        found = sorted((int(rank), int(step), float(value)) for step, _, value, rank in (row.split(",") for row in rows))
        points = by_key(self.stored.reader.points)["train/loss"]
        self.assertEqual(found, sorted((p.rank, p.step, p.value) for p in points))
        self.assertEqual({rank for rank, _, _ in found}, set(range(RANKS)))


if __name__ == "__main__":
    run_tests()
