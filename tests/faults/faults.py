"""Every fault that a schedule can hold: what breaks, and how it is mended.

A fault is a generator: it breaks something up to its `yield` and mends it after. Between the two the schedule lets the
trainer log, or lets another fault begin and end.
"""

import dataclasses
import errno
import random
from collections.abc import Callable, Iterator

from scene import Scene, pause, resume

COLLECTOR, TRAINER, LINK, SPOOL = "collector", "trainer", "link", "spool"

# What a fault may cost, each exactly accounted for.
DROPS = "drops"  # points that never got a seq, counted in the stream
SKIPS = "skips"  # frames that are gone, named by SKIP


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str
    where: str  # two faults at one place are not combined
    costs: frozenset[str]
    act: Callable[[Scene, random.Random], Iterator[None]]


FAULTS: dict[str, Fault] = {}


def fault(where: str, *costs: str):
    def register(act):
        FAULTS[act.__name__] = Fault(act.__name__, where, frozenset(costs), act)
        return act

    return register


def stay(scene: Scene, rng: random.Random, limit_s: float = 1.5) -> None:
    """Lets the trainer log for a while."""
    scene.trainer.wait_for_calls(rng.randint(200, 4_000), limit_s)


@fault(COLLECTOR)
def collector_killed(scene, rng):
    scene.kill_collector()
    yield
    scene.start_collector()


@fault(COLLECTOR)
def collector_restarted(scene, rng):
    scene.stop_collector()
    yield
    scene.start_collector()


@fault(COLLECTOR)
def collector_paused(scene, rng):
    pause(scene.collector.process)
    yield
    resume(scene.collector.process)


@fault(COLLECTOR)
def collector_power_lost(scene, rng):
    scene.kill_collector()
    scene.lose_unsynced()
    yield
    scene.start_collector()


@fault(TRAINER)
def trainer_paused(scene, rng):
    pause(scene.trainer.process)
    yield
    resume(scene.trainer.process)


@fault(TRAINER)
def trainer_killed(scene, rng):
    scene.trainer.kill()
    yield
    scene.start_trainer()


@fault(LINK)
def link_cut(scene, rng):
    for link in scene.links:
        link.refuse()
    yield
    for link in scene.links:
        link.accept_again()


@fault(LINK)
def link_stalled(scene, rng):
    for link in scene.links:
        link.change(link.there, stalled=True)
        link.change(link.back, stalled=True)
    yield
    for link in scene.links:
        link.change(link.there, stalled=False)
        link.change(link.back, stalled=False)


@fault(LINK)
def link_delayed(scene, rng):
    delay_s = rng.uniform(0.01, 0.1)
    for link in scene.links:
        link.change(link.there, delay_s=delay_s)
        link.change(link.back, delay_s=delay_s)
    yield
    for link in scene.links:
        link.change(link.there, delay_s=0)
        link.change(link.back, delay_s=0)


def swallow(link, direction) -> Iterator[None]:
    link.change(direction, swallowed=True)
    yield
    link.cut_all()
    link.change(direction, swallowed=False)
    link.cut_all()  # those that came meanwhile


@fault(LINK)
def commits_lost(scene, rng):
    yield from swallow(scene.control, scene.control.back)


@fault(LINK)
def control_lost(scene, rng):
    yield from swallow(scene.control, scene.control.there)


@fault(LINK)
def data_lost(scene, rng):
    yield from swallow(scene.data, scene.data.there)


@fault(COLLECTOR)
def collector_disk_full(scene, rng):
    scene.collector_shim.fail("write", errno.ENOSPC)
    yield
    scene.collector_shim.heal("write")


@fault(COLLECTOR)
def collector_sync_fails(scene, rng):
    scene.collector_shim.fail("sync", errno.EIO, times=1)
    yield
    scene.collector_shim.heal("sync")


@fault(COLLECTOR)
def collector_clock_jumps(scene, rng):
    scene.collector_shim.shift_wall_clock(rng.choice((-3600, 3600)))
    yield
    scene.collector_shim.shift_wall_clock(0)


@fault(TRAINER)
def trainer_clock_jumps(scene, rng):
    scene.trainer.shim.shift_wall_clock(rng.choice((-3600, 3600)))
    yield
    scene.trainer.shim.shift_wall_clock(0)
