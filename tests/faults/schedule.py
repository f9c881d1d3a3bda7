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


@dataclasses.dataclass
class Schedule:
    seed: int
    steps: list[tuple[str, ...]]  # each: faults that begin in this order and end in the reverse one
    collector_absent: bool = False  # at the start
    trainer: TrainerSettings = dataclasses.field(default_factory=TrainerSettings)

    @property
    def names(self) -> list[str]:
        return (["collector_absent"] if self.collector_absent else []) + [name for step in self.steps for name in step]

    @property
    def costs(self) -> frozenset[str]:
        return frozenset().union(*(FAULTS[name].costs for step in self.steps for name in step))


def draw(seed: int, max_steps: int = 3) -> Schedule:
    """The schedule of a seed: the same on every machine."""
    rng = random.Random(seed)
    schedule = Schedule(seed, [], collector_absent=rng.random() < 0.1)
    for _ in range(rng.randint(1, max_steps)):
        first = rng.choice(sorted(FAULTS))
        step = (first,)
        others = [name for name in sorted(FAULTS) if may_join(FAULTS[first], FAULTS[name])]
        if others and rng.random() < 0.35:
            step += (rng.choice(others),)
        schedule.steps.append(step)
    return schedule


def make(seed: int, text: str) -> Schedule:
    """"link_cut,collector_killed+trainer_paused": faults one after the other, and one within another."""
    steps = [tuple(step.split("+")) for step in text.split(",")]
    absent = ("collector_absent",) in steps
    return Schedule(seed, [step for step in steps if step != ("collector_absent",)], collector_absent=absent)


def may_join(first: faults.Fault, second: faults.Fault) -> bool:
    return first.where != second.where


def run(schedule: Schedule, folder: pathlib.Path) -> checks.Result:
    """Raises ScheduleFailed. The folder then holds all that is left."""
    return checks.check(perform(schedule, folder), schedule.costs, rings_survive=False)


def perform(schedule: Schedule, folder: pathlib.Path) -> Scene:
    """To the end, when everything that can be delivered is: what is left to look at."""
    rng = random.Random(schedule.seed + 1)
    with Scene(folder) as scene:
        scene.settings = schedule.trainer
        if not schedule.collector_absent:
            scene.start_collector()
        scene.start_trainer()
        stay(scene, rng)
        if schedule.collector_absent:
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
