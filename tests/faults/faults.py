"""Every fault that a schedule can hold: what breaks, and how it is mended.

A fault is a generator: it breaks something up to its `yield` and mends it after. Between the two the schedule lets the
trainer log, or lets another fault begin and end.
"""

import contextlib
import dataclasses
import errno
import os
import pathlib
import random
import shutil
from collections.abc import Callable, Iterator

from scene import Scene, pause, resume  # first: it makes the other folders of tests importable
from contract import LOG, pb
from sideband_frames import ScannedFrame, scan

COLLECTOR, TRAINER, LINK, SPOOL = "collector", "trainer", "link", "spool"

# What a fault may cost, each exactly accounted for.
DROPS = "drops"  # points that never got a seq, counted in the stream
SKIPS = "skips"  # frames that are gone, named by SKIP
TRIMS = "trims"  # frames that only an earlier collector has, named by SKIP


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


STAY_LIMIT_S = 1.5
CALLS_PER_S = 2_500  # at the least, of a trainer that runs


def stay(scene: Scene, rng: random.Random) -> None:
    """Lets the trainer log for a while; one that is stopped is not waited for."""
    calls = rng.randint(*scene.settings.stay_calls)
    scene.trainer.wait_for_calls(calls, max(STAY_LIMIT_S, calls / CALLS_PER_S))


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


@fault(COLLECTOR)
def collector_disk_slow(scene, rng):
    scene.collector_shim.delay("sync", rng.randint(100_000, 500_000))
    yield
    scene.collector_shim.heal("sync")


@fault(COLLECTOR, TRIMS)
def collector_swapped(scene, rng):
    scene.kill_collector()
    scene.swap_collector()
    yield
    scene.start_collector()


@fault(TRAINER)
def trainer_disk_slow(scene, rng):
    scene.trainer.shim.delay("write", rng.randint(50_000, 300_000))
    yield
    scene.trainer.shim.heal("write")


@fault(TRAINER, DROPS)
def trainer_disk_full(scene, rng):
    scene.trainer.shim.fail("write", errno.ENOSPC)
    yield
    scene.trainer.shim.heal("write")


@fault(TRAINER, DROPS)
def trainer_disk_fails(scene, rng):
    scene.trainer.shim.fail("write", errno.EIO, times=rng.randint(1, 20))
    yield
    scene.trainer.shim.heal("write")


@fault(SPOOL, SKIPS)
def spool_deleted(scene, rng):
    gone = scene.folder / f"deleted-{len(list(scene.folder.glob('deleted-*')))}"
    scene.trainer.spool().rename(gone)  # at once: the trainer would go on in a folder that is half deleted
    shutil.rmtree(gone)
    yield


@fault(SPOOL, SKIPS)
def spool_truncated(scene, rng):
    segment = sorted(scene.trainer.spool().glob("segment-*.log"))[-1]
    os.truncate(segment, rng.randint(0, segment.stat().st_size))
    yield


@fault(TRAINER, SKIPS)
def spool_bit_rot(scene, rng):
    """In a frame that only the spool of a dead trainer has."""
    for link in scene.links:
        link.refuse()
    yield
    scene.trainer.kill()
    flip_a_bit(max(scene.trainer.spool().glob("segment-*.log")), rng)
    for link in scene.links:
        link.accept_again()
    scene.start_trainer()


def flip_a_bit(segment: pathlib.Path | None, rng: random.Random) -> None:
    """Of a LOG without definitions: the points of other frames must stay readable."""
    if segment is None:
        return
    logs = [item for item in scan(segment.read_bytes()) if isinstance(item, ScannedFrame) and item.frame.msg_type == LOG]
    plain = [item for item in logs if not pb.Log.FromString(item.frame.payload).keys]
    if not plain:
        return
    victim = rng.choice(plain)
    with open(segment, "r+b") as file:
        file.seek(victim.offset + rng.randrange(len(victim.frame.bytes)))
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1 << rng.randrange(8)]))


@fault(SPOOL, SKIPS)
def spool_rots(scene, rng):
    """Under a living trainer: what it has in memory, too, it sends from there."""
    full = sorted(scene.trainer.spool().glob("segment-*.log"))[:-1]
    with contextlib.suppress(FileNotFoundError):  # the trainer deletes what is committed
        flip_a_bit(rng.choice(full) if full else None, rng)
    yield


@fault(SPOOL)
def spool_claimed_twice(scene, rng):
    """Two copies of the spool of a living trainer are delivered, too: their open counts are equal."""
    known = len(list(scene.folder.glob("copy-*")))
    copies = [scene.folder / f"copy-{known + number}" for number in range(2)]
    for copy in copies:
        shutil.copytree(scene.trainer.spool(), copy, copy_function=copy_what_is_there)
        forget_original(copy)
    yield
    for copy in copies:
        scene.deliver(copy)


def copy_what_is_there(source: str, target: str) -> None:
    with contextlib.suppress(FileNotFoundError):  # the trainer deletes what is committed
        shutil.copy2(source, target)


def forget_original(copy: pathlib.Path) -> None:
    """Of a spool whose meta does not say in which folder it was made: nobody can tell that it is a copy."""
    meta = copy / "spool.meta"
    if meta.is_file():  # the spool may just have been deleted
        lines = meta.read_text().splitlines(keepends=True)
        meta.write_text("".join(line for line in lines if not line.startswith("inode ")))


@fault(COLLECTOR, TRIMS)
def stream_clash(scene, rng):
    """An empty collector hears first of another spool with the trainer's stream id."""
    scene.kill_collector()
    scene.swap_collector()
    yield
    pause(scene.trainer.process)
    scene.start_collector()
    scene.clash_with(scene.trainer)
