#!/usr/bin/env bash
# Runs every benchmark of the release build, one after the other, on an otherwise idle machine. Arguments go to each of them.
set -euo pipefail
cd "$(dirname "$0")/.."

shopt -s nullglob
benchmarks=(build/release/bin/*_bench)
[[ ${#benchmarks[@]} -gt 0 ]] || { echo "bench: expected benchmarks, found none; run: make build; looked in build/release/bin" >&2; exit 1; }
for benchmark in "${benchmarks[@]}"; do
  echo "== ${benchmark##*/}"
  "$benchmark" "$@"
done
