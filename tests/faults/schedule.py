"""Schedules: what happens, in which order, from a seed; and the running of one in a folder of its own."""

import contextlib
import dataclasses
import os
import pathlib
import random
import shutil
import tempfile
import time

import checks
import faults
from faults import FAULTS, stay
from scene import Scene, ScheduleFailed, TrainerSettings, write_facts


# Circumstances of a whole schedule.
COLLECTOR_ABSENT = "collector_absent"  # at the start
SMALL_QUOTA = "small_quota"  # of the spool, with rows so wide that it is reached whenever the collector is away
DEEP_BACKLOG = "deep_backlog"  # more than a publisher keeps in memory: an outage leaves frames that only the disk has
SETTINGS = {
    SMALL_QUOTA: TrainerSettings(width=40, quota_bytes=160 << 10),
    DEEP_BACKLOG: TrainerSettings(width=200, stay_calls=(5_000, 6_000)),
}
CIRCUMSTANCES = {COLLECTOR_ABSENT: 0.1, SMALL_QUOTA: 0.1, DEEP_BACKLOG: 0.03}  # how often each is drawn

KILLS_TRAINER = {"trainer_killed", "spool_bit_rot"}
NEVER_SECOND = {"spool_claimed_twice", "stream_clash"}  # they end with a delivery, which needs everything else mended


@dataclasses.dataclass
class Schedule:
    seed: int
    steps: list[tuple[str, ...]]  # each: faults that begin in this order and end in the reverse one
    circumstances: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        return [*self.circumstances, *(name for step in self.steps for name in step)]

    @property
    def costs(self) -> frozenset[str]:
        full = {faults.DROPS} if {SMALL_QUOTA, DEEP_BACKLOG} & set(self.circumstances) else set()  # of a spool, of a ring
        return frozenset(full).union(*(FAULTS[name].costs for step in self.steps for name in step))

    @property
    def trainer(self) -> TrainerSettings:
        chosen = [SETTINGS[name] for name in self.circumstances if name in SETTINGS]
        return chosen[0] if chosen else TrainerSettings()

    def __str__(self) -> str:
        return ",".join([*self.circumstances, *("+".join(step) for step in self.steps)])


def draw(seed: int, max_steps: int = 3) -> Schedule:
    """The schedule of a seed: the same on every machine."""
    rng = random.Random(seed)
    schedule = Schedule(seed, [], tuple(name for name, chance in CIRCUMSTANCES.items() if rng.random() < chance))
    for _ in range(rng.randint(1, max_steps)):
        first = rng.choice([name for name in sorted(FAULTS) if fits(schedule, name)])
        step = (first,)
        others = [name for name in sorted(FAULTS) if may_join(FAULTS[first], FAULTS[name]) and fits(schedule, name, first)]
        if others and rng.random() < 0.35:
            step += (rng.choice(others),)
        schedule.steps.append(step)
    return schedule


def fits(schedule: Schedule, name: str, *others: str) -> bool:
    """Left out is what nobody could count: drops of a trainer that is killed just then, holes in a spool whose stream is
    refused. And a trainer that was fenced meets no clash."""
    costs = schedule.costs.union(FAULTS[name].costs, *(FAULTS[other].costs for other in others))
    names = {name, *others, *schedule.names}
    if "stream_clash" in names and (faults.SKIPS in costs or "spool_claimed_twice" in names):
        return False
    return faults.DROPS not in costs or not KILLS_TRAINER & names


def may_join(first: faults.Fault, second: faults.Fault) -> bool:
    if first.name == "stream_clash" or second.name in NEVER_SECOND:
        return False
    places = {first.where, second.where}
    # What a spool loses while its trainer dies nobody can count.
    loses_spool = faults.SPOOL in places and faults.SKIPS in first.costs | second.costs
    return len(places) == 2 and not (loses_spool and KILLS_TRAINER & {first.name, second.name})


def make(seed: int, text: str) -> Schedule:
    """"link_cut,collector_killed+trainer_paused": faults one after the other, and one within another."""
    words = text.split(",")
    steps = [tuple(word.split("+")) for word in words if word not in CIRCUMSTANCES]
    return Schedule(seed, steps, tuple(word for word in words if word in CIRCUMSTANCES))


def run(schedule: Schedule, folder: pathlib.Path) -> checks.Result:
    """Raises ScheduleFailed. The folder then holds all that is left."""
    return checks.check(perform(schedule, folder), schedule.costs)


def perform(schedule: Schedule, folder: pathlib.Path) -> Scene:
    """To the end, when everything that can be delivered is: what is left to look at."""
    rng = random.Random(schedule.seed + 1)
    with Scene(folder) as scene:
        scene.settings = schedule.trainer
        if COLLECTOR_ABSENT not in schedule.circumstances:
            scene.start_collector()
        scene.start_trainer()
        stay(scene, rng)
        if COLLECTOR_ABSENT in schedule.circumstances:
            scene.start_collector()
        for step in schedule.steps:
            act(scene, rng, step)
            stay(scene, rng)
        scene.trainer.finish()
        scene.deliver_spools()
        scene.stop_collector()
        write_facts(folder / "facts.json", scene.facts())
    return scene


def act(scene: Scene, rng: random.Random, names: tuple[str, ...]) -> None:
    """The faults begin one after the other, and end in the reverse order."""
    running = []
    for name in names:
        running.append(FAULTS[name].act(scene, rng))
        next(running[-1])
        stay(scene, rng)
    for one in reversed(running):
        with contextlib.suppress(StopIteration):
            next(one)


@dataclasses.dataclass
class Outcome:
    schedule: Schedule
    result: checks.Result | None  # None: it failed
    trouble: str
    seconds: float
    folder: pathlib.Path | None  # of a failed one, kept


def run_in_new_folder(schedule: Schedule, keep: bool = False) -> Outcome:
    parent = os.environ.get("SIDEBAND_FAULTS_FOLDER")
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"faults-{schedule.seed}-", dir=parent))
    begun = time.monotonic()
    try:
        result, trouble = run(schedule, folder), ""
    except (ScheduleFailed, AssertionError, OSError, TimeoutError) as error:
        result, trouble = None, f"{type(error).__name__}: {error}"
    seconds = time.monotonic() - begun
    if result and not keep:
        shutil.rmtree(folder)
        folder = None
    return Outcome(schedule, result, trouble, seconds, folder)
