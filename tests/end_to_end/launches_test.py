"""Launches: the ranks of each are one run, and no two are one, whether they come one after the other or are alive at once, with
a collector or offline and delivered later.
"""

import collections
import json
import os
import pathlib
import select
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "independent"))

from reader import read_paths  # noqa: E402
from support import RealCollector, TrainersCase, binary, run_tests  # noqa: E402

DEADLINE_S = 120
POINTS = 1_000
RANKS = 2
NOWHERE = "tcp://127.0.0.1:1"
STEP = {"SLURM_JOB_ID": "7", "SLURM_STEP_NUM_TASKS": str(RANKS)}
ELASTIC = {"TORCHELASTIC_RUN_ID": "none", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "WORLD_SIZE": str(RANKS)}
MASTER = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}


def ranks_of(variable: str, shared: dict[str, str]) -> list[dict[str, str]]:
    return [shared | {variable: str(rank)} for rank in range(RANKS)]


class LaunchCase(TrainersCase):
    def start(self, way: str, collector: str, ranks: list[dict[str, str]]) -> subprocess.Popen:
        """Trainers with these environments, side by side below a launcher of their own, whose stdin they share."""
        environment = {n: v for n, v in os.environ.items() if n == "PATH" or n.endswith("SAN_OPTIONS")}
        environment |= {"HOME": str(self.folder), "SIDEBAND_SPOOL_DIR": str(self.folder / "spool")}
        environment |= {"SIDEBAND_COLLECTOR": collector}
        lines = ["exec 3<&0"]
        for rank in ranks:
            lines.append(" ".join(f"{n}={v}" for n, v in rank.items()) + f' "$0" {way} <&3 & pids="$pids $!"')
        lines.append("for pid in $pids; do wait $pid || exit 1; done")
        launcher = subprocess.Popen(
            ["/bin/sh", "-c", "\n".join(lines), binary("trainer")], env=environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.addCleanup(launcher.stdout.close)
        self.addCleanup(launcher.stdin.close)
        return launcher

    def tool(self, *arguments: str) -> str:
        done = subprocess.run(
            [binary("sideband"), *arguments], capture_output=True, text=True, check=False, timeout=DEADLINE_S
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def sync(self) -> None:
        with RealCollector(self.folder / "data") as collector:
            self.tool("sync", str(self.folder / "spool"), "--to", collector.connect)


class OneAfterTheOther(LaunchCase):
    def launch(self, rank_variable: str, shared: dict[str, str]) -> None:
        """To its end, without a collector."""
        launcher = self.start("return", NOWHERE, ranks_of(rank_variable, shared))
        self.assertEqual(launcher.wait(DEADLINE_S), 0)

    def streams_of_runs(self) -> list[int]:
        """Delivers it all; how many streams each run has."""
        self.sync()
        return [run["streams"] for run in json.loads(self.tool("runs", "--json", "--data-dir", str(self.folder / "data")))]

    def test_steps_of_one_allocation_are_runs_of_their_own(self):
        for step in range(3):
            self.launch("SLURM_PROCID", STEP | {"SLURM_STEP_ID": str(step)})
        self.assertEqual(self.streams_of_runs(), [RANKS] * 3)

    def test_tasks_of_a_job_array_are_runs_of_their_own(self):
        for task in range(2):
            self.launch("SLURM_PROCID", STEP | {"SLURM_STEP_ID": "0", "SLURM_ARRAY_TASK_ID": str(task)})
        self.assertEqual(self.streams_of_runs(), [RANKS] * 2)

    def test_requeue_is_the_same_run(self):
        for restarts in range(2):
            self.launch("SLURM_PROCID", STEP | {"SLURM_STEP_ID": "0", "SLURM_RESTART_COUNT": str(restarts)})
        self.assertEqual(self.streams_of_runs(), [RANKS * 2])

    def test_programs_of_a_batch_script_without_srun_never_merge(self):
        self.launch("ORDER", STEP | {"SLURM_STEP_ID": str(0xFFFFFFFB)})
        self.assertEqual(self.streams_of_runs(), [1] * RANKS)

    def test_two_plain_torchruns_on_one_host_are_two_runs(self):
        for _ in range(2):
            self.launch("RANK", ELASTIC)
        self.assertEqual(self.streams_of_runs(), [RANKS] * 2)

    def test_elastic_restart_is_the_same_run(self):
        for restarts in range(2):
            restart = {"TORCHELASTIC_RUN_ID": "job-1", "TORCHELASTIC_RESTART_COUNT": str(restarts)}
            self.launch("RANK", ELASTIC | restart)
        self.assertEqual(self.streams_of_runs(), [RANKS * 2])


class SideBySide:
    """All alive at once. What a launch logs bears its name."""

    def begin(self, *launches: list[dict[str, str]]) -> list[subprocess.Popen]:
        """Until every rank has opened its run."""
        launchers = [self.start(self.way, self.collector, ranks) for ranks in launches]
        for launcher, ranks in zip(launchers, launches):
            self.expect(launcher, "ready\n" * len(ranks))
        return launchers

    def expect(self, launcher: subprocess.Popen, text: str) -> None:
        found = b""
        while len(found) < len(text):
            self.assertTrue(select.select([launcher.stdout], [], [], DEADLINE_S)[0], f"expected {text}, found {found}")
            byte = os.read(launcher.stdout.fileno(), 1)
            self.assertTrue(byte, f"expected {text}, found the end and {found}")
            found += byte
        self.assertEqual(found.decode(), text)

    def end(self, launchers: list[subprocess.Popen]) -> None:
        for launcher in launchers:
            launcher.stdin.close()
        self.assertEqual([launcher.wait(DEADLINE_S) for launcher in launchers], [0] * len(launchers))

    def assert_runs(self, *expected: tuple[str, int]) -> None:
        """One run for each launch, with so many streams that have all points."""
        self.bring_in()
        found = []
        for run in (self.folder / "data" / "runs").iterdir():
            steps = collections.defaultdict(list)
            for point in read_paths(run).reader.points:
                if not point.key.startswith("sideband/"):
                    steps[point.key, point.stream_id].append(point.step)
            self.assertEqual(set(map(tuple, steps.values())), {tuple(range(POINTS))})
            found.append((",".join(sorted({key for key, _ in steps})), len(steps)))
        self.assertEqual(sorted(found), sorted(expected))

    def test_steps_of_one_allocation_are_runs_of_their_own(self):
        steps = [STEP | {"SLURM_STEP_ID": str(step), "LAUNCH": f"step-{step}"} for step in range(3)]
        self.end(self.begin(*(ranks_of("SLURM_PROCID", step) for step in steps)))
        self.assert_runs(*((f"step-{step}", RANKS) for step in range(3)))

    def test_torchruns_without_an_id_are_two_runs(self):
        self.end(self.begin(*(ranks_of("RANK", ELASTIC | {"LAUNCH": name}) for name in "ab")))
        self.assert_runs(("a", RANKS), ("b", RANKS))

    def test_torchruns_with_one_id_are_two_runs(self):
        launches = [
            ELASTIC | {"TORCHELASTIC_RUN_ID": "100", "MASTER_PORT": str(29500 + i), "LAUNCH": name} for i, name in enumerate("ab")
        ]
        self.end(self.begin(*(ranks_of("RANK", launch) for launch in launches)))
        self.assert_runs(("a", RANKS), ("b", RANKS))

    def test_torchrun_that_restarts_beside_one_with_its_id_stays_its_own_run(self):
        first = self.begin(ranks_of("RANK", ELASTIC | {"TORCHELASTIC_RUN_ID": "100", "LAUNCH": "a"}))
        for restarts, port in enumerate(("29501", "29502")):
            second = {"TORCHELASTIC_RUN_ID": "100", "TORCHELASTIC_RESTART_COUNT": str(restarts), "MASTER_PORT": port}
            self.end(self.begin(ranks_of("RANK", ELASTIC | second | {"LAUNCH": "b"})))
        self.end(first)
        self.assert_runs(("a", RANKS), ("b", RANKS * 2))

    def test_two_programs_of_one_shell_with_one_master_are_two_runs(self):
        self.end(self.begin([MASTER | {"LAUNCH": name} for name in "ab"]))
        self.assert_runs(("a", 1), ("b", 1))

    def test_given_run_id_is_one_run_whoever_takes_it(self):
        self.end(self.begin(*([MASTER | {"SIDEBAND_RUN_ID": "ours", "LAUNCH": "a"}] for _ in range(2))))
        self.assert_runs(("a", 2))


class SideBySideWithACollector(SideBySide, LaunchCase):
    way = "together"

    def setUp(self):
        super().setUp()
        self.collector = self.enterContext(RealCollector(self.folder / "data")).connect

    def bring_in(self) -> None:
        """It is all there: each rank waited for it."""


class SideBySideOffline(SideBySide, LaunchCase):
    way, collector = "together_offline", NOWHERE

    def bring_in(self) -> None:
        self.sync()


if __name__ == "__main__":
    run_tests()
