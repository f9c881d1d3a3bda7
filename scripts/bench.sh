#!/usr/bin/env bash
# Runs every benchmark of the release build, one after the other, on an otherwise idle machine. Files go to build/bench, so that is
# the disk that is measured. What the numbers mean: docs/benchmarks.md.
set -euo pipefail
cd "$(dirname "$0")/.."

bin=build/release/bin
for program in log_call_bench encode_bench commit_bench loopback_sender raw_write; do
  [[ -x $bin/$program ]] || { echo "bench: expected a build with SIDEBAND_BENCH=ON, found none; run: cmake --preset release -DSIDEBAND_BENCH=ON && make build; looked for $bin/$program" >&2; exit 1; }
done
mkdir -p build/bench

echo "== a log() call"
"$bin/log_call_bench"
echo "== encoding"
"$bin/encode_bench"
echo "== group commit"
"$bin/commit_bench" build/bench
echo "== sender and collector on this machine"
/usr/bin/python3 bench/loopback.py --bin-dir "$bin" --scratch build/bench "$@"
