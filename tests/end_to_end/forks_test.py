"""Trainers that fork, spawn and execute: no point of either process is lost or doubled, nobody holds what is another's, nobody
hangs.
"""

import collections
import os
import pathlib
import select
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "independent"))

from contract import END  # noqa: E402
from reader import read_paths  # noqa: E402
from support import RealCollector, TrainersCase, binary, run_tests  # noqa: E402

DEADLINE_S = 120
POINTS = 1_000
CHILDREN = 16
NOWHERE = "tcp://127.0.0.1:1"


class Forks(TrainersCase):
    def start(self, way: str, collector: str = NOWHERE) -> subprocess.Popen:
        environment = {n: v for n, v in os.environ.items() if n == "PATH"}
        environment |= {"HOME": str(self.folder), "SIDEBAND_SPOOL_DIR": str(self.folder / "spool")}
        environment |= {"SIDEBAND_COLLECTOR": collector, "SIDEBAND_RUN_ID": "parent"}
        return subprocess.Popen(
            [binary("forking_trainer"), way], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def run_to_its_end(self, way: str, collector: str = NOWHERE) -> list[str]:
        """What it said, by lines."""
        trainer = self.start(way, collector)
        said, _ = trainer.communicate(timeout=DEADLINE_S)
        self.assertEqual(trainer.returncode, 0)
        return said.decode().splitlines()

    def expect(self, trainer: subprocess.Popen, line: str) -> None:
        found = b""
        while not found.endswith(b"\n"):
            self.assertTrue(select.select([trainer.stdout], [], [], DEADLINE_S)[0], f"expected {line}, found {found}")
            byte = os.read(trainer.stdout.fileno(), 1)
            self.assertTrue(byte, f"expected {line}, found the end and {found}")
            found += byte
        self.assertEqual(found.decode(), line + "\n")

    def kill_parent_and_deliver(self, way: str) -> None:
        """Kills it beside a child that lives on, until everything was delivered that nobody holds."""
        trainer = self.start(way)
        self.addCleanup(trainer.stdout.close)
        self.expect(trainer, "ready")
        trainer.kill()
        trainer.wait()
        self.deliver()
        trainer.stdin.write(b"\n")
        trainer.stdin.flush()
        self.expect(trainer, "alive")
        trainer.stdin.close()
        self.assertEqual(trainer.stdout.read(), b"")  # the child has ended, too

    def deliver(self) -> None:
        with RealCollector(self.folder / "data") as collector:
            done = subprocess.run(
                [binary("sideband"), "sync", str(self.folder / "spool"), "--to", collector.connect],
                capture_output=True, text=True, check=False, timeout=DEADLINE_S,
            )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def stored(self, run_id: str = ""):
        folder = read_paths(self.folder / "data" / "runs" / run_id)
        self.assertEqual((folder.damage, folder.reader.doubles), ([], 0))
        return folder.reader

    def assert_stored(self, points_of_streams: list[int], run_id: str = "") -> None:
        """These numbers of points of "loss", each stream's steps from 0 in order."""
        steps = collections.defaultdict(list)
        for point in self.stored(run_id).points:
            if point.key == "loss":
                steps[point.stream_id].append(point.step)
        self.assertEqual(sorted(map(len, steps.values())), sorted(points_of_streams))
        for found in steps.values():
            self.assertEqual(found, list(range(len(found))))

    def ends(self) -> list[int]:
        """How many END frames each stream has."""
        frames = self.stored().frames
        counts = {stream_id: 0 for stream_id, _ in frames}
        for (stream_id, _), frame in frames.items():
            counts[stream_id] += frame.msg_type == END
        return list(counts.values())

    # ---- programs that a trainer starts ----

    def test_program_that_is_started_inherits_no_descriptor(self):
        with RealCollector(self.folder / "data") as collector:
            said = [line.split(" ", 2) for line in self.run_to_its_end("start programs", collector.connect)]
        held = [target for who, _, target in said if who == "parent"]
        for kind in (str(self.folder / "spool"), "socket:", "anon_inode:[eventfd]"):
            self.assertTrue(any(target.startswith(kind) for target in held), (kind, held))
        self.assertEqual(sorted(number for who, number, _ in said if who == "executed"), sorted("012" * 2))

    def test_program_that_is_started_logs_to_a_run_of_its_own(self):
        with RealCollector(self.folder / "data") as collector:
            self.run_to_its_end("start programs", collector.connect)
        for run_id in ("parent", "executed", "spawned"):
            self.assert_stored([POINTS], run_id)

    def test_program_that_lives_on_does_not_hold_a_killed_parents_spool(self):
        self.kill_parent_and_deliver("killed beside a program")
        self.assert_stored([POINTS])

    # ---- forked children ----

    def test_child_that_lives_on_does_not_hold_a_killed_parents_spool(self):
        self.kill_parent_and_deliver("killed beside a child")
        self.assert_stored([POINTS])

    def test_child_that_logs_and_lives_on_holds_only_its_own_spool(self):
        self.kill_parent_and_deliver("killed beside a child that logs")
        self.assert_stored([POINTS])
        self.deliver()
        self.assert_stored([POINTS, POINTS])

    def test_child_that_returns_from_main_ends_its_stream_once(self):
        self.run_to_its_end("return in a child that logs")
        self.deliver()
        self.assert_stored([POINTS, POINTS])
        self.assertEqual(self.ends(), [1, 1])

    def test_point_that_a_child_logs_at_exit_is_kept(self):
        self.run_to_its_end("return in a child that logs")
        self.deliver()
        self.assertEqual([point.key for point in self.stored().points].count("at_exit"), 1)

    def test_child_that_returns_from_main_and_never_logged_has_no_stream(self):
        self.run_to_its_end("return in a child")
        self.deliver()
        self.assert_stored([POINTS])
        self.assertEqual(self.ends(), [1])

    def test_one_point_before_quick_exit_of_a_child_is_delivered(self):
        self.run_to_its_end("_exit after one point")
        self.deliver()
        self.assert_stored([1] * CHILDREN + [POINTS])

    def test_many_points_before_quick_exit_of_a_child_are_delivered(self):
        self.run_to_its_end("_exit after many points")
        self.deliver()
        self.assert_stored([POINTS] * (CHILDREN + 1))


if __name__ == "__main__":
    run_tests()
