#!/bin/bash
# Random schedules of faults: scripts/faults.sh [COUNT [SEED]], or make faults N=1000 SEED=1. Two at a time; prints each,
# and at the end a table. A failed one keeps its folder and says how to run it again. Exit 1: at least one failed.
set -euo pipefail
cd "$(dirname "$0")/.."
count=${1:-50} seed=${2:-1}
cmake --preset dev > /dev/null
cmake --build --preset dev --target logging_child fault_shim sideband > /dev/null
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
failed=0
pids=()
half=$(((count + 1) / 2))
for part in 0 1; do
  first=$((seed + part * half)) size=$((part == 0 ? half : count - half))
  [ "$size" -gt 0 ] || continue
  /usr/bin/python3 -B tests/faults/run.py --sideband="$PWD/build/dev/bin/sideband" \
    --logging_child="$PWD/build/dev/bin/logging_child" --fault_shim="$PWD/build/dev/lib/fault_shim.so" \
    --seed="$first" --count="$size" --results="$out/$part" &
  pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
/usr/bin/python3 -B tests/faults/table.py "$out"/*
exit $failed
