"""The real sender and the real collector while links are cut in the middle of a frame and either is killed: every point that
reached the spool is stored, bit for bit, once.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "independent"))

from reader import read_paths  # noqa: E402
from relay import Relay  # noqa: E402
from support import PointsCase, RealCollector, binary, by_key, run_cpp_sender, run_tests, sample_values  # noqa: E402

DEADLINE_S = 120
POINTS, KEYS, SEED = 200_000, 20, 3
CUTS = 3
CUT_AFTER_BYTES = 150_001  # of some 1,400,000


class Faults(PointsCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.control, self.data = self.enterContext(Relay()), self.enterContext(Relay())
        self.data.cut_after_bytes = CUT_AFTER_BYTES
        self.collector = self.enterContext(
            RealCollector(self.folder / "data", "--insecure", "--advertise-data", self.data.endpoint)
        )
        self.aim()

    def aim(self) -> None:
        """The relays lead to the collector as it runs now."""
        self.control.target, self.data.target = self.collector.control, self.collector.data

    def start_sender(self) -> subprocess.Popen:
        return run_cpp_sender(
            self.control.endpoint, self.folder / "spool", "faults", "faults-run", POINTS, KEYS, SEED, DEADLINE_S * 1000
        )

    def send_while(self, fault) -> dict:
        """Lets the sample through, with a fault at each cut of the data link; what the sender says at its end."""
        sender = self.start_sender()
        for _ in range(CUTS):
            self.assertTrue(self.data.cut.acquire(timeout=DEADLINE_S), self.collector.log())
            fault()
        self.data.cut_after_bytes = 0
        told, _ = sender.communicate(timeout=DEADLINE_S)
        self.assertEqual(sender.returncode, 0, self.collector.log())
        return json.loads(told)

    def restart(self) -> None:
        self.collector.kill()
        self.collector.start()
        self.aim()

    def assert_everything_is_stored_once(self) -> None:
        folder = read_paths(self.folder / "data")
        found = by_key(folder.reader.points)
        self.assertEqual((folder.reader.doubles, folder.damage), (0, []))
        for key, expected in sample_values(SEED, POINTS, KEYS).items():
            points = [(p.step, p.value) for p in found[key]]
            self.assert_values(key, points, [(step, value) for step, _, value in expected])

    def test_cut_links_lose_and_double_nothing(self):
        self.send_while(lambda: None)
        self.assert_everything_is_stored_once()

    def test_kill_9_of_the_collector_loses_and_doubles_nothing(self):
        self.send_while(self.restart)
        self.assert_everything_is_stored_once()

    def test_kill_9_of_the_trainer_leaves_a_spool_that_sync_delivers_and_deletes(self):
        sender = self.start_sender()
        self.assertTrue(self.data.cut.acquire(timeout=DEADLINE_S), self.collector.log())
        sender.kill()
        sender.communicate(timeout=DEADLINE_S)
        self.data.cut_after_bytes = 0
        spooled = len(read_paths(self.folder / "spool").reader.points)
        self.sync()
        folder = read_paths(self.folder / "data")
        self.assertGreaterEqual(len(folder.reader.points), spooled)
        self.assert_a_beginning_is_stored_once(folder)
        self.assertEqual(list((self.folder / "spool").iterdir()), [])

    def sync(self) -> None:
        command = [binary("sideband"), "sync", str(self.folder / "spool"), "--to", self.control.endpoint]
        synced = subprocess.run(command, capture_output=True, text=True, check=False, timeout=DEADLINE_S)
        self.assertEqual(synced.returncode, 0, synced.stdout + synced.stderr)

    def assert_a_beginning_is_stored_once(self, folder) -> None:
        """Of each metric: what was logged up to the kill, without a gap."""
        self.assertEqual((folder.reader.doubles, folder.damage), (0, []))
        sample = sample_values(SEED, POINTS, KEYS)
        for key, points in by_key(folder.reader.points).items():
            expected = [(step, value) for step, _, value in sample[key][: len(points)]]
            self.assert_values(key, [(p.step, p.value) for p in points], expected)


if __name__ == "__main__":
    run_tests()
