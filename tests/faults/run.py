"""Runs random schedules of faults: run.py --sideband=PATH --logging_child=PATH --fault_shim=PATH [options]

    --seed=N --count=N     schedules of the seeds N, N+1, …; default one of seed 1
    --only=NAME[,NAME]     with these faults, one after the other; NAME+NAME: the second while the first lasts
    --keep                 keeps the folders of schedules that went well, too
    --results=FILE         appends a line of JSON for each schedule; table.py sums them up

Exit 0: nothing was lost, nothing doubled, order kept. 1: a schedule failed; its seed, its folder and the command that runs it
again are printed.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import shlex
import sys

import scene  # noqa: F401  makes the other folders of tests importable
import schedule
import support


BINARIES = ("sideband", "logging_child", "fault_shim")


def take_binaries() -> None:
    for argument in [a for a in sys.argv if a.removeprefix("--").split("=")[0] in BINARIES]:
        sys.argv.remove(argument)
        name, path = argument[2:].split("=", 1)
        support.set_binary(name, path)


def replay_command(seed: int, only: str | None) -> str:
    words = [f"--{name}={support.binary(name)}" for name in BINARIES] + [f"--seed={seed}"]
    if only:
        words.append(f"--only={only}")
    return shlex.join(["/usr/bin/python3", "-B", str(pathlib.Path(__file__).resolve()), *words])


def tell(outcome: schedule.Outcome, only: str | None) -> None:
    one = outcome.schedule
    word = "ok  " if outcome.result else "FAIL"
    print(f"{word} seed {one.seed} {outcome.seconds:5.1f} s  {one}", flush=True)
    if not outcome.result:
        print(f"     {outcome.trouble}\n     folder: {outcome.folder}\n     again: {replay_command(one.seed, only)}", flush=True)


def note(file: pathlib.Path, outcome: schedule.Outcome) -> None:
    result = dataclasses.asdict(outcome.result) if outcome.result else None
    with open(file, "a") as opened:
        opened.write(json.dumps({"seed": outcome.schedule.seed, "faults": outcome.schedule.names, "result": result}) + "\n")


def main() -> int:
    take_binaries()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--only")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--results", type=pathlib.Path)
    arguments = parser.parse_args()
    os.nice(5)
    outcomes = []
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        one = schedule.draw(seed)
        if arguments.only:
            one = schedule.make(seed, arguments.only)
        outcomes.append(schedule.run_in_new_folder(one, arguments.keep))
        tell(outcomes[-1], arguments.only)
        if arguments.results:
            note(arguments.results, outcomes[-1])
    return 0 if all(outcome.result for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
