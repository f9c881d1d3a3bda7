"""A thousand senders with real connections: `sideband bench senders` loses nothing, and its collector may be killed meanwhile."""

import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "independent"))

from support import binary, run_tests  # noqa: E402

DEADLINE_S = 240


def bench(*arguments: str) -> subprocess.CompletedProcess:
    command = [binary("sideband"), "bench", "senders", "--json", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=DEADLINE_S)


class BenchSenders(unittest.TestCase):
    def assert_nothing_lost(self, told: subprocess.CompletedProcess) -> dict:
        self.assertEqual(told.returncode, 0, told.stdout + told.stderr)
        report = json.loads(told.stdout)
        self.assertEqual((report["lost_frames"], report["problem"]), (0, None))
        return report

    def test_a_thousand_senders_lose_nothing(self):
        report = self.assert_nothing_lost(bench("--count", "1000", "--processes", "2", "--seconds", "2"))
        self.assertGreaterEqual(report["frames"], 1000 * (2 + 1))  # CONFIG, END and a row at least

    def test_a_collector_that_is_killed_half_way_loses_nothing(self):
        report = self.assert_nothing_lost(bench("--count", "50", "--processes", "2", "--seconds", "1", "--restart"))
        self.assertGreaterEqual(report["sessions"], 2 * 50)

    def test_rows_as_fast_as_credit_allows_all_arrive(self):
        report = self.assert_nothing_lost(bench("--count", "20", "--rate", "0", "--rows", "500", "--keys", "1"))
        self.assertEqual(report["frames"], 20 * (500 + 2))

    def test_more_senders_than_open_files_allow_are_refused_at_once(self):
        command = ["prlimit", "--nofile=1000:1000", binary("sideband"), "bench", "senders", "--count", "1000"]
        told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=DEADLINE_S)
        self.assertEqual(told.returncode, 1)
        self.assertIn("has room for 442 senders", told.stderr)

    def test_a_collector_that_is_not_there_is_said(self):
        told = bench("--to", "tcp://127.0.0.1:1", "--count", "1", "--deadline-s", "0.2")
        self.assertEqual(told.returncode, 1)
        self.assertIn("expected 1 senders, found 0 that stream", told.stderr)


if __name__ == "__main__":
    run_tests()
