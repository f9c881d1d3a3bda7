"""Senders that all have more to send than the collector may hold: its memory stays inside the bound of docs/operations.md."""

import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "independent"))

from support import binary, run_tests  # noqa: E402

DEADLINE_S = 240
BUDGET_MIB = 32  # CollectorOptions::credit_budget_bytes
MIB_PER_SENDER = 0.5 + 0.06  # two maximal frames, and what ZeroMQ keeps of two links
OWN_MIB = 30  # an idle collector, and what malloc keeps of freed memory


def bench(*arguments: str) -> dict:
    command = [binary("sideband"), "bench", "senders", "--json", *arguments]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=DEADLINE_S)
    return json.loads(told.stdout)


class Memory(unittest.TestCase):
    def test_senders_with_a_backlog_cost_what_they_are_said_to(self):
        report = bench("--count", "50", "--processes", "2", "--rate", "0", "--rows", "128", "--keys", "4000")
        self.assertLess(report["collector_peak_resident_mib"], BUDGET_MIB + 50 * MIB_PER_SENDER + OWN_MIB)


if __name__ == "__main__":
    run_tests()
