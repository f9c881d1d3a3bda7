"""Sums up what run.py wrote with --results: table.py FILE… prints Markdown."""

import collections
import json
import pathlib
import sys

COUNTS = ("points_logged", "points_stored", "points_dropped", "points_skipped")


def main() -> int:
    outcomes = [json.loads(line) for file in sys.argv[1:] for line in pathlib.Path(file).read_text().splitlines()]
    drawn = collections.Counter(name for outcome in outcomes for name in outcome["faults"])
    failed = [outcome["seed"] for outcome in outcomes if not outcome["result"]]
    totals = {name: sum(outcome["result"][name] for outcome in outcomes if outcome["result"]) for name in COUNTS}
    seeds = [outcome["seed"] for outcome in outcomes]
    print(f"\n| seeds | schedules | failed | {' | '.join(name.replace('_', ' ') for name in COUNTS)} |")
    print("| --- " * (3 + len(COUNTS)) + "|")
    print(f"| {min(seeds)} to {max(seeds)} | {len(outcomes)} | {len(failed)} | "
          f"{' | '.join(f'{totals[name]:,}' for name in COUNTS)} |")  # fmt: skip
    print("\n| fault | drawn |\n| --- | --- |")
    for name, count in sorted(drawn.items()):
        print(f"| {name} | {count} |")
    if failed:
        print(f"\nfailed seeds: {', '.join(map(str, failed))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
