#!/usr/bin/env python3
"""Sender and collector on this machine, durable, beside the limits that they are held to in the same run.

Usage: loopback.py --bin-dir build/release/bin [--rounds 5] [--rows 500000] [--senders 1000] [--keys]

Each round runs, one after another: one trainer at full speed (200 float32-lossless metrics a row); raw write + fdatasync of the
bytes that it stored; small frames from many senders. With --keys, the trainer and the senders each also over an encrypted link, first in
every other round, and the ratio to the plain one. Prints every round and the median with the spread.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def collector(bin_dir: pathlib.Path, folder: pathlib.Path, with_keys: bool) -> Iterator[str]:
    """Starts a collector on free ports; yields its control endpoint; stops it and waits."""
    command = [str(bin_dir / "sideband"), "collect", "--data-dir", str(folder), "--print-endpoints"]
    command += [] if with_keys else ["--insecure"]
    for name in ("control", "data", "tap"):
        command += [f"--{name}", "tcp://127.0.0.1:0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield json.loads(process.stdout.readline())["connect"]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


def run_json(command: list[str]) -> dict:
    """Runs a benchmark program and returns the one JSON line that it prints."""
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(result.stdout.strip().splitlines()[-1])


def measure_trainer(options: argparse.Namespace, scratch: pathlib.Path, with_keys: bool) -> dict:
    """One trainer at full speed, until all is durable."""
    with collector(options.bin_dir, scratch / f"data-{with_keys}", with_keys) as endpoint:
        return run_json([str(options.bin_dir / "loopback_sender"), "--connect", endpoint,
                         "--spool-dir", str(scratch / "spool"), "--rows", str(options.rows)])


def measure_senders(options: argparse.Namespace, scratch: pathlib.Path, with_keys: bool) -> dict:
    """Small frames from many senders, until all is durable."""
    with collector(options.bin_dir, scratch / f"small-{with_keys}", with_keys) as endpoint:
        return run_json([str(options.bin_dir / "sideband"), "bench", "senders", "--to", endpoint, "--json",
                         "--count", str(options.senders), "--processes", "1",
                         "--rate", "0", "--keys", "1", "--rows", str(options.frames)])


def measure_round(options: argparse.Namespace, scratch: pathlib.Path, number: int) -> dict[str, float]:
    """One round: rates in points, bytes and frames a second."""
    # A machine that gets slower or faster meanwhile must not look like the cost of keys.
    order = ([False, True] if number % 2 == 0 else [True, False]) if options.keys else [False]
    trainers = {with_keys: measure_trainer(options, scratch, with_keys) for with_keys in order}
    fast = trainers[False]
    raw = run_json([str(options.bin_dir / "raw_write"), "--path", str(scratch / "raw"), "--bytes", str(fast["bytes_sent"])])
    senders = {with_keys: measure_senders(options, scratch, with_keys) for with_keys in order}
    points = {with_keys: run["points"] / run["durable_s"] / 1e6 for with_keys, run in trainers.items()}
    frames = {with_keys: run["frames"] / run["durable_s"] / 1e3 for with_keys, run in senders.items()}
    ready = {with_keys: run["ready_s"] for with_keys, run in senders.items()}
    stored_bytes_per_s = fast["bytes_sent"] / fast["durable_s"]
    raw_bytes_per_s = raw["bytes"] / raw["seconds"]
    figures = {
        "points/s durable (M)": points[False],
        "wire bytes/point": fast["bytes_sent"] / fast["points"],
        "stored MB/s": stored_bytes_per_s / 1e6,
        "raw write+fdatasync MB/s": raw_bytes_per_s / 1e6,
        "stored / raw": stored_bytes_per_s / raw_bytes_per_s,
        "small frames/s (k)": frames[False],
        f"{options.senders} senders ready (s)": ready[False],
    }
    if options.keys:
        figures |= {
            "keys: points/s durable (M)": points[True],
            "keys / none, points/s": points[True] / points[False],
            "keys: small frames/s (k)": frames[True],
            "keys / none, small frames/s": frames[True] / frames[False],
            f"keys: {options.senders} senders ready (s)": ready[True],
        }
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin-dir", type=pathlib.Path, required=True, help="folder of the release programs")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=500_000, help="rows of 200 points a round")
    parser.add_argument("--senders", type=int, default=1_000)
    parser.add_argument("--frames", type=int, default=300, help="small frames a sender")
    parser.add_argument("--scratch", type=pathlib.Path, default=None, help="folder on the disk to measure")
    parser.add_argument("--keys", action="store_true", help="measure over encrypted links, too")
    options = parser.parse_args()

    print(f"loopback: {platform.machine()}, Linux {platform.release()}, {options.rounds} rounds")
    rounds: list[dict[str, float]] = []
    for number in range(options.rounds):
        with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
            rounds.append(measure_round(options, pathlib.Path(scratch), number))
        print(f"round {number + 1}: " + ", ".join(f"{name} {value:.3g}" for name, value in rounds[-1].items()), flush=True)
    print(f"\n{'':32}{'median':>10}{'min':>10}{'max':>10}")
    for name in rounds[0]:
        values = [measured[name] for measured in rounds]
        print(f"{name:32}{statistics.median(values):10.3g}{min(values):10.3g}{max(values):10.3g}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
