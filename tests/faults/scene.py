"""The actors of a schedule: a collector, one trainer at a time, the links between them, and everything that can happen to
them. Nothing is checked here: checks.py looks at what is left.
"""

import dataclasses
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "independent"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "end_to_end"))

import record  # noqa: E402
from contract import pb  # noqa: E402
from frame_store import SpoolFolder  # noqa: E402
from relay import Relay  # noqa: E402
from shim import Shim  # noqa: E402
from sideband_frames import scan  # noqa: E402
from stream_writer import Identity, StreamWriter  # noqa: E402
from support import RealCollector, binary  # noqa: E402

DEADLINE_S = 90
FINISH_MS = 60_000
HEARTBEAT_MS = "300"
RUN_ID = "faults-run"
POLL_S = 0.005
FORGED_RANK = 999
SHARED_MEMORY = pathlib.Path(f"/dev/shm/sideband-{os.getuid()}")  # where rings of killed trainers lie
DELIVERIES = 5  # a claim that is refused may be repeated with a higher open count


class ScheduleFailed(Exception):
    """What happened is not what was promised."""


@dataclasses.dataclass
class TrainerSettings:
    pace_us: int = 300
    width: int = 3
    quota_bytes: int = 4 << 30
    stay_calls: tuple[int, int] = (200, 4_000)  # between two events of a schedule


class Trainer:
    """One incarnation: a logging child, what it told, and how it ended."""

    def __init__(self, scene: "Scene", incarnation: int, settings: TrainerSettings):
        self.incarnation, self.settings = incarnation, settings
        self.was_killed = self.was_fenced = False
        self.record = record.Record(scene.folder / f"record-{incarnation}")
        self.shim = Shim(scene.folder / f"trainer-{incarnation}.faults", scene.spool_dir)
        self._spool_dir, self._foreign, self._refused = scene.spool_dir, set(scene.spools()), scene.refused_spools
        self._spool: pathlib.Path | None = None
        environment = {name: os.environ[name] for name in os.environ if name == "PATH" or name.endswith("SAN_OPTIONS")}
        environment |= self.shim.environment | {
            "HOME": str(scene.folder), "SIDEBAND_COLLECTOR": scene.connect, "SIDEBAND_RUN_ID": RUN_ID,
            "SIDEBAND_SPOOL_DIR": str(scene.spool_dir),
        }  # fmt: skip
        arguments = [scene.folder / f"record-{incarnation}", incarnation, settings.pace_us, settings.width,
                     settings.quota_bytes, FINISH_MS]  # fmt: skip
        with open(scene.folder / f"trainer-{incarnation}.log", "wb") as log:
            self.process = subprocess.Popen(
                [binary("logging_child"), *map(str, arguments)], env=environment, stderr=log, stdout=log
            )
        wait_until(lambda: self.record["state"] >= record.LOGGING or self.process.poll() is not None, "start a trainer")
        if self.record["state"] == record.FAILED or self.process.poll() is not None:
            raise ScheduleFailed(f"start a trainer: exit {self.process.wait()}; see trainer-{incarnation}.log")

    def spool(self) -> pathlib.Path:
        """The folder that it writes; a trainer whose stream was refused gets a second one."""
        mine = set(spools_in(self._spool_dir)) - self._foreign - set(self._refused)
        self._spool = max(mine, key=lambda path: path.stat().st_ctime_ns, default=self._spool)
        return self._spool

    def stream_id(self) -> int:
        segment = sorted(self.spool().glob("segment-*.log"))[0]
        return pb.File.FromString(next(scan(segment.read_bytes())).frame.payload).stream_id

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.was_killed = True

    def finish(self) -> None:
        self.record.ask_to_stop()
        status = self.process.wait(DEADLINE_S)
        if status != 0:
            raise ScheduleFailed(f"finish a trainer: expected exit 0, found {status}")

    def wait_for_calls(self, more: int, limit_s: float = 2) -> None:
        """Until the trainer has logged so many more calls, at most so long: a stopped one never will."""
        end, wanted = time.monotonic() + limit_s, sum(self.record.calls()) + more
        while sum(self.record.calls()) < wanted and time.monotonic() < end:
            time.sleep(POLL_S)


class Scene:
    """Owns the folder of one schedule; everything in it ends with the scene."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.spool_dir = folder / "spool"
        self.data_dirs = [folder / "data"]  # all that collectors had, the latest last
        self.trainers: list[Trainer] = []
        self.refused_spools: list[pathlib.Path] = []  # whose stream id clashes: they stay, for people to look at
        self.links = [Relay(), Relay()]
        self.control, self.data = self.links
        self.collector: RealCollector | None = None
        self.collector_shim: Shim | None = None
        self.connect = ""
        self.settings = TrainerSettings()
        self._spool_names: set[str] = set()

    def __enter__(self) -> "Scene":
        for link in self.links:
            link.__enter__()
        self._make_collector(self.data_dirs[0])
        return self

    def __exit__(self, *_) -> None:
        for trainer in self.trainers:
            if trainer.process.poll() is None:
                trainer.process.kill()
                trainer.process.wait()
        if self.is_collecting():
            self.collector.process.kill()
            self.collector.process.wait()
        if self.collector:
            (self.folder / f"collector-{len(self.data_dirs)}.log").write_text(self.collector.log())
            self.collector.close()
        for link in self.links:
            link.__exit__()
        for name in self._spool_names:
            shutil.rmtree(SHARED_MEMORY / name, ignore_errors=True)

    @property
    def trainer(self) -> Trainer:
        return self.trainers[-1]

    # The collector.

    def start_collector(self) -> None:
        self.collector.start()
        self.control.target, self.data.target = self.collector.control, self.collector.data
        self.connect = self.collector.connect

    def kill_collector(self) -> None:
        self.control.target = self.data.target = ""
        self.collector.kill()

    def stop_collector(self) -> None:
        self.control.target = self.data.target = ""
        status = self.collector.stop()
        if status != 0:
            raise ScheduleFailed(f"stop the collector: expected exit 0, found {status}")

    def swap_collector(self) -> None:
        """Another data folder, with nothing in it but the keys, if there are any."""
        old, new = self.data_dirs[-1], self.folder / f"data-{len(self.data_dirs)}"
        self.collector.close()
        self._make_collector(new)
        self.data_dirs.append(new)
        for path in old.iterdir():
            if path.name not in ("lock", "store_id", "runs"):
                new.mkdir(exist_ok=True)
                (shutil.copytree if path.is_dir() else shutil.copy2)(path, new / path.name)

    def lose_unsynced(self) -> None:
        self.collector_shim.lose_unsynced(self.data_dirs[-1])

    def is_collecting(self) -> bool:
        return self.collector is not None and self.collector.is_running()

    def _make_collector(self, data_dir: pathlib.Path) -> None:
        self.collector_shim = Shim(self.folder / f"collector-{data_dir.name}.faults", data_dir)
        self.collector = RealCollector(
            data_dir, "--insecure", "--heartbeat-ms", HEARTBEAT_MS, "--advertise-control", self.control.endpoint,
            "--advertise-data", self.data.endpoint, environment=self.collector_shim.environment,
        )  # fmt: skip
        self.collector.open_log()

    # The trainer.

    def start_trainer(self) -> None:
        if not self.connect:  # as a user knows it from an earlier day
            self.start_collector()
            self.stop_collector()
        self.trainers.append(Trainer(self, len(self.trainers) + 1, self.settings))
        self._spool_names.add(self.trainer.spool().name)

    def spools(self) -> list[pathlib.Path]:
        return spools_in(self.spool_dir)

    def clash_with(self, trainer: Trainer) -> None:
        """While the trainer is stopped the collector learns of another spool with its stream id; then the trainer goes on."""
        stream_id = trainer.stream_id()
        folder = self.folder / f"forged-{stream_id:016x}"
        store = SpoolFolder(folder, os.urandom(16), stream_id, RUN_ID)
        StreamWriter(Identity(stream_id, store.spool_id, "faults", RUN_ID, rank=FORGED_RANK), store, 1, 2).begin_segment()
        store.close()
        self.deliver(folder)
        refused = trainer.spool()
        self.refused_spools.append(refused)
        resume(trainer.process)
        wait_until(lambda: trainer.spool() != refused, "begin another stream after a clash")

    # The tools.

    def tool(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [binary("sideband"), *map(str, arguments)], capture_output=True, text=True, check=False, timeout=DEADLINE_S
        )

    def deliver_spools(self) -> None:
        """What an operator does with spools that are left: until it is said that all is stored."""
        for folder in self.spools():
            if folder not in self.refused_spools:
                self.deliver(folder, "sync")

    def deliver(self, folder: pathlib.Path, command: str = "replay") -> None:
        told = None
        for _ in range(DELIVERIES):
            told = self.tool(command, folder, "--to", self.connect, "--deadline-s", "40")
            if told.returncode in (0, 3):
                return
        raise ScheduleFailed(f"deliver a spool: expected exit 0 or 3, found {told.returncode}: {told.stderr}: {folder}")

    def facts(self) -> dict:
        return {"trainers": [trainer.record.snapshot() for trainer in self.trainers]}


def spools_in(root: pathlib.Path) -> list[pathlib.Path]:
    return sorted(path.parent for path in root.glob("*/spool.meta"))


def wait_until(done, what: str, deadline_s: float = DEADLINE_S) -> None:
    end = time.monotonic() + deadline_s
    while not done():
        if time.monotonic() > end:
            raise ScheduleFailed(f"{what}: expected it within {deadline_s} s")
        time.sleep(POLL_S)


def pause(process: subprocess.Popen) -> None:
    process.send_signal(signal.SIGSTOP)


def resume(process: subprocess.Popen) -> None:
    process.send_signal(signal.SIGCONT)


def write_facts(path: pathlib.Path, facts: dict) -> None:
    path.write_text(json.dumps(facts, indent=1))
