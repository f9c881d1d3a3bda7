#!/usr/bin/python3
"""Runs the examples beside a real collector and compares what they logged with what is stored.

examples_test.py SIDEBAND DIGITS QUICKSTART SOURCE_FOLDER
"""

import json
import os
import select
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

DEADLINE_S = 100
RANKS = 4
EPOCHS = 60
STEPS_PER_EPOCH = 1_437 // 64
POINTS = RANKS * EPOCHS * STEPS_PER_EPOCH * 5 + EPOCHS * 2  # five metrics a step on each rank, two an epoch on rank 0


class Examples(unittest.TestCase):
    sideband: str
    digits: str
    quickstart: str
    sources: Path

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.data = self.folder / "data"
        self.environment = {**os.environ, "SIDEBAND_SPOOL_DIR": str(self.folder / "spool")}
        self.environment.pop("SIDEBAND_RUN_ID", None)

    def start(self, *command: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=self.environment)
        self.addCleanup(process.wait, DEADLINE_S)
        self.addCleanup(process.terminate)
        self.addCleanup(process.stdout.close)
        return process

    def start_collector(self) -> dict[str, str]:
        any_port = "tcp://127.0.0.1:0"
        collector = self.start(
            self.sideband, "collect", "--data-dir", str(self.data), "--print-endpoints",
            "--control", any_port, "--data", any_port, "--tap", any_port,
        )  # fmt: skip
        endpoints = json.loads(collector.stdout.readline())
        self.environment["SIDEBAND_COLLECTOR"] = endpoints["connect"]
        return endpoints

    def run_program(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, capture_output=True, text=True, env=self.environment, timeout=DEADLINE_S, check=False)

    def train(self) -> dict[str, object]:
        report = self.folder / "report.json"
        data = self.sources / "examples/data/digits.csv"
        trained = self.run_program(
            self.digits, "--ranks", str(RANKS), "--epochs", str(EPOCHS), "--data", str(data), "--report", str(report)
        )
        self.assertEqual(trained.returncode, 0, trained.stderr)
        return json.loads(report.read_text(encoding="utf-8"))

    def stored_run(self) -> dict[str, object]:
        listed = self.run_program(self.sideband, "runs", "--data-dir", str(self.data), "--json")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        (run,) = json.loads(listed.stdout)
        return run

    def test_the_trainer_logs_every_step_of_every_rank(self) -> None:
        self.start_collector()
        self.assertEqual(self.train()["points_logged"], POINTS)

    def test_every_logged_point_is_stored(self) -> None:
        self.start_collector()
        logged = self.train()["points_logged"]
        self.assertEqual(self.stored_run()["points"], logged)

    def test_all_ranks_log_to_one_run(self) -> None:
        self.start_collector()
        report = self.train()
        run = self.stored_run()
        self.assertEqual((run["id"], run["state"], run["streams"]), (report["run_id"], "finished", RANKS))

    def test_the_trainer_learns(self) -> None:
        self.start_collector()
        self.assertGreater(self.train()["validation_accuracy"], 0.95)

    def test_a_rank_that_fails_ends_the_training(self) -> None:
        failed = self.run_program(self.digits, "--data", str(self.folder / "none.csv"))
        self.assertEqual(failed.returncode, 1)

    def test_a_batch_that_ranks_cannot_share_is_reported(self) -> None:
        failed = self.run_program(self.digits, "--ranks", "3", "--batch", "64")
        self.assertIn("expected a multiple of --ranks (3), found 64", failed.stderr)

    def test_the_tap_reader_sees_what_the_quickstart_logs(self) -> None:
        endpoints = self.start_collector()
        reader = self.start_tap_reader(endpoints["connect_tap"])
        # Until the tap knows the reader, what is stored passes it by: so the program runs until one of its values arrives.
        while not select.select([reader.stdout], [], [], 0)[0]:
            ran = self.run_program(self.quickstart)
            self.assertTrue(ran.stdout.endswith(" is stored\n"), ran.stdout + ran.stderr)
        self.assertRegex(reader.stdout.readline(), r"^quickstart/\S+ \S+ \d+ \S+\n$")

    def start_tap_reader(self, tap: str) -> subprocess.Popen[str]:
        subprocess.run(
            ["protoc", "-I", str(self.sources / "proto"), f"--python_out={self.folder}", "sideband.proto"], check=True
        )
        self.environment["PYTHONPATH"] = str(self.folder)
        return self.start(sys.executable, str(self.sources / "examples/quickstart/read_tap.py"), tap)

    def test_the_readme_shows_the_programs_as_they_are(self) -> None:
        readme = (self.sources / "README.md").read_text(encoding="utf-8")
        for name in ("quickstart.cc", "read_tap.py"):
            with self.subTest(name):
                self.assertIn((self.sources / "examples/quickstart" / name).read_text(encoding="utf-8"), readme)


if __name__ == "__main__":
    Examples.sideband, Examples.digits, Examples.quickstart = sys.argv[1:4]
    Examples.sources = Path(sys.argv[4])
    unittest.main(argv=sys.argv[:1])
