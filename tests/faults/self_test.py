"""The harness itself: a seed is a schedule, every kind of fault is there, and what it would report it does see."""

import pathlib
import shutil
import sys
import tempfile
import unittest

import scene as scenes  # first: it makes the other folders of tests importable
import checks
import schedule
from contract import LOG
from faults import FAULTS
from scene import Scene, ScheduleFailed
from sideband_frames import ScannedFrame, scan
from support import run_tests

NAMED: set[str] = set()  # faults with a fixed schedule in CMakeLists.txt
CI_SEEDS = range(51, 101)


class Schedules(unittest.TestCase):
    def test_a_seed_is_one_schedule(self):
        self.assertEqual([schedule.draw(seed) for seed in CI_SEEDS], [schedule.draw(seed) for seed in CI_SEEDS])

    def test_every_fault_is_drawn_by_the_seeds_of_the_tests(self):
        drawn = {name for seed in CI_SEEDS for name in schedule.draw(seed).names}
        self.assertEqual(drawn, set(FAULTS) | set(schedule.CIRCUMSTANCES))

    def test_every_fault_has_a_fixed_schedule(self):
        self.assertEqual(NAMED, set(FAULTS) | set(schedule.CIRCUMSTANCES))


class Checks(unittest.TestCase):
    """A schedule without faults, and then its data folder is not as it should be."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.scene = schedule.perform(schedule.Schedule(1, []), cls.folder)

    def check_with(self, change) -> None:
        """The checks, on a copy in which `change` got the list of LOG frames to work on."""
        with tempfile.TemporaryDirectory() as name:
            copy = pathlib.Path(name) / "data"
            shutil.copytree(self.scene.data_dirs[0], copy)
            (file,) = copy.rglob("frames-*.log")
            frames = [item.frame for item in scan(file.read_bytes()) if isinstance(item, ScannedFrame)]
            places = [index for index, frame in enumerate(frames) if frame.msg_type == LOG]
            change(frames, places)
            file.write_bytes(b"".join(frame.bytes for frame in frames))
            changed = Scene.__new__(Scene)
            changed.__dict__ = self.scene.__dict__ | {"data_dirs": [copy]}
            checks.check(changed, frozenset())

    def test_what_a_collector_stored_passes(self):
        self.check_with(lambda frames, places: None)

    def test_a_frame_that_is_missing_is_seen(self):
        with self.assertRaisesRegex(ScheduleFailed, "or a SKIP for it"):
            self.check_with(lambda frames, places: frames.pop(places[-5]))

    def test_the_last_frames_missing_are_seen(self):
        with self.assertRaisesRegex(ScheduleFailed, "was committed"):
            self.check_with(lambda frames, places: frames.__delitem__(slice(places[-1], None)))

    def test_a_frame_that_is_there_twice_is_seen(self):
        with self.assertRaisesRegex(ScheduleFailed, "every frame once"):
            self.check_with(lambda frames, places: frames.insert(places[-1], frames[places[5]]))

    def test_a_call_that_was_never_stored_is_seen(self):
        known = self.scene.trainer.record.calls
        self.addCleanup(self.scene.trainer.record.__dict__.pop, "calls")
        self.scene.trainer.record.calls = lambda: [known()[0] + 9, known()[1]]
        with self.assertRaisesRegex(ScheduleFailed, "not stored"):
            self.check_with(lambda frames, places: None)


if __name__ == "__main__":
    for argument in [a for a in sys.argv if a.startswith("--named=")]:
        sys.argv.remove(argument)
        NAMED.update(argument.removeprefix("--named=").split(","))
    assert scenes
    run_tests()
