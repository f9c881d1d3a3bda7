"""Launches that were offline and are delivered later: their ranks are one run each, and no two launches are one."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "independent"))

from support import PointsCase, RealCollector, binary, run_tests  # noqa: E402

DEADLINE_S = 120
RANKS = 2
STEP = {"SLURM_JOB_ID": "7", "SLURM_STEP_NUM_TASKS": str(RANKS)}
ELASTIC = {"TORCHELASTIC_RUN_ID": "none", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "WORLD_SIZE": str(RANKS)}


class Launches(PointsCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def tearDown(self):
        for spool in (self.folder / "spool").glob("*"):
            shutil.rmtree(f"/dev/shm/sideband-{os.geteuid()}/{spool.name}", ignore_errors=True)

    def launch(self, rank_variable: str, shared: dict[str, str]) -> None:
        """All ranks side by side below a launcher of their own, without a collector."""
        environment = {n: v for n, v in os.environ.items() if n == "PATH" or n.endswith("SAN_OPTIONS")}
        environment |= {"HOME": str(self.folder), "SIDEBAND_SPOOL_DIR": str(self.folder / "spool")}
        environment |= {"SIDEBAND_COLLECTOR": "tcp://127.0.0.1:1"} | shared
        ranks = " ".join(f'{rank_variable}={rank} "$0" return &' for rank in range(RANKS))
        subprocess.run(
            ["/bin/sh", "-c", f"{ranks} wait", binary("trainer")], env=environment, check=True, timeout=DEADLINE_S,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def streams_of_runs(self) -> list[int]:
        """Delivers it all; how many streams each run has."""
        with RealCollector(self.folder / "data") as collector:
            self.tool("sync", str(self.folder / "spool"), "--to", collector.connect)
        return [run["streams"] for run in json.loads(self.tool("runs", "--json", "--data-dir", str(self.folder / "data")))]

    def tool(self, *arguments: str) -> str:
        done = subprocess.run(
            [binary("sideband"), *arguments], capture_output=True, text=True, check=False, timeout=DEADLINE_S
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

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


if __name__ == "__main__":
    run_tests()
