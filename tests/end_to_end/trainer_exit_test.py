"""How trainers end, and what their signals do: the spool holds every point whichever way it was, nothing hangs, no handler of
the trainer's is touched.
"""

import os
import pathlib
import select
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "independent"))

from reader import read_paths  # noqa: E402
from support import RealCollector, TrainersCase, binary, run_tests  # noqa: E402

DEADLINE_S = 120
POINTS = 1_000
NOWHERE = "tcp://127.0.0.1:1"
TRAINERS_SIGNALS = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT, signal.SIGTERM)


class TrainerExit(TrainersCase):
    def start(self, way: str, collector: str = NOWHERE) -> subprocess.Popen:
        environment = {n: v for n, v in os.environ.items() if n == "PATH" or n.endswith("SAN_OPTIONS")}
        environment |= {"HOME": str(self.folder), "SIDEBAND_SPOOL_DIR": str(self.folder / "spool")}
        environment |= {"SIDEBAND_COLLECTOR": collector, "SIDEBAND_RUN_ID": "exits"}
        return subprocess.Popen(
            [binary("trainer"), way], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip

    def run_to_its_end(self, way: str, collector: str = NOWHERE) -> subprocess.CompletedProcess:
        trainer = self.start(way, collector)
        said, complaints = trainer.communicate(timeout=DEADLINE_S)
        return subprocess.CompletedProcess(way, trainer.returncode, said, complaints)

    def start_and_wait(self, way: str, *lines: str) -> subprocess.Popen:
        trainer = self.start(way)
        self.addCleanup(trainer.communicate)
        self.addCleanup(trainer.kill)
        self.expect(trainer, *lines)
        return trainer

    def expect(self, trainer: subprocess.Popen, *lines: str) -> None:
        """Byte by byte, past the buffer of trainer.stdout: select() does not see what lies there."""
        for line in lines:
            found = b""
            while not found.endswith(b"\n"):
                self.assertTrue(select.select([trainer.stdout], [], [], DEADLINE_S)[0], f"expected {line}")
                byte = os.read(trainer.stdout.fileno(), 1)
                self.assertTrue(byte, f"expected {line}, found the end and {found}")
                found += byte
            self.assertEqual(found.decode(), line + "\n")

    def spooled(self):
        return read_paths(self.folder / "spool").reader

    def assert_every_point_is_spooled(self, points: int = POINTS) -> None:
        steps = [point.step for point in self.spooled().points if point.key == "loss"]
        self.assertEqual(sorted(steps), list(range(points)))

    def statuses(self) -> list[int]:
        return [end.status for end in self.spooled().ends.values()]

    # ---- ways to end ----

    def test_return_from_main_with_a_global_run_finishes_it(self):
        self.assertEqual(self.run_to_its_end("return").returncode, 0)
        self.assert_every_point_is_spooled()
        self.assertEqual(len(self.spooled().ends), 1)

    def test_exit_finishes_a_global_run(self):
        self.assertEqual(self.run_to_its_end("exit").returncode, 0)
        self.assert_every_point_is_spooled()
        self.assertEqual(len(self.spooled().ends), 1)

    def test_point_of_an_exit_handler_is_spooled(self):
        self.assertEqual(self.run_to_its_end("at exit").returncode, 0)
        self.assert_every_point_is_spooled(POINTS + 1)

    def test_quick_exit_leaves_what_was_flushed(self):
        self.assertEqual(self.run_to_its_end("_exit").returncode, 0)
        self.assert_every_point_is_spooled()

    def test_uncaught_exception_ends_the_trainer_as_ever(self):
        self.assertEqual(self.run_to_its_end("uncaught").returncode, -signal.SIGABRT)

    def test_exception_that_leaves_the_run_fails_it(self):
        self.assertEqual(self.run_to_its_end("throw").returncode, 0)
        self.assertEqual(self.statuses(), [2])

    def test_end_without_a_collector_says_what_is_left_and_how_to_deliver_it(self):
        complaints = self.run_to_its_end("return").stderr
        (spool,) = (self.folder / "spool").iterdir()
        self.assertRegex(complaints, rf"not delivered: \d+ frame\(s\).*sideband \w+ '{spool}' --to '{NOWHERE}'\n")

    # ---- signals ----

    def test_second_sigint_ends_a_finish_that_waits(self):
        trainer = self.start_and_wait("interrupted", "ready")
        trainer.send_signal(signal.SIGINT)
        self.expect(trainer, "finishing")
        trainer.send_signal(signal.SIGINT)
        self.assertEqual(trainer.wait(DEADLINE_S), -signal.SIGINT)
        self.assert_every_point_is_spooled()

    def test_sigterm_to_the_process_group_ends_the_trainer(self):
        trainer = self.start_and_wait("killed", "ready")
        os.killpg(trainer.pid, signal.SIGTERM)
        self.assertEqual(trainer.wait(DEADLINE_S), -signal.SIGTERM)
        self.assert_every_point_is_spooled()

    def test_handlers_of_the_trainer_run_in_its_own_thread(self):
        trainer = self.start_and_wait("signals", "unchanged", "ready")
        for number in TRAINERS_SIGNALS:
            trainer.send_signal(number)
            self.expect(trainer, f"handled {int(number)}")
        self.assertEqual(trainer.wait(DEADLINE_S), 0)

    def test_our_threads_block_the_signals_of_the_trainer(self):
        trainer = self.start_and_wait("killed", "ready")
        deadline = time.monotonic() + DEADLINE_S
        while len(blocked := self.our_threads(trainer.pid)) < 2:  # a thread gets its name when it runs first
            self.assertLess(time.monotonic(), deadline, blocked)
        self.assertNotIn(False, blocked.values(), blocked)

    @staticmethod
    def our_threads(pid: int) -> dict[str, bool]:
        """By name: whether it blocks all signals of the trainer."""
        blocked = {}
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            name = (task / "comm").read_text().strip()
            if name.startswith(("sideband-", "ZMQbg")):
                mask = (task / "status").read_text().split("SigBlk:")[1].split()[0]
                blocked[name] = all(int(mask, 16) >> (number - 1) & 1 for number in TRAINERS_SIGNALS)
        return blocked

    def test_signals_that_interrupt_every_call_do_no_harm(self):
        with RealCollector(self.folder / "data") as collector:
            self.assertEqual(self.run_to_its_end("pestered", collector.connect).returncode, 0)
        stored = read_paths(self.folder / "data").reader
        self.assertEqual((len(stored.points), stored.doubles), (POINTS, 0))


if __name__ == "__main__":
    run_tests()
