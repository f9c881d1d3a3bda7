#!/usr/bin/env bash
# Builds and runs all tests in three builds: dev (with the format, layer and clang-tidy checks), asan and tsan.
# With presets as arguments, only those. Stops at the first build that fails; ctest's closing lines tell of each.
set -euo pipefail
cd "$(dirname "$0")/.."

presets=("$@")
[[ $# -gt 0 ]] || presets=(dev asan tsan)

# Above 28 bits of address randomness the thread sanitizer of g++ 12 finds its shadow memory taken and ends at once.
run=()
if [[ $(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0) -gt 28 ]]; then
  run=(setarch "$(uname -m)" --addr-no-randomize)
  "${run[@]}" true 2>/dev/null || { echo "test: expected vm.mmap_rnd_bits of at most 28 or leave to switch randomness off, found neither; run: sysctl vm.mmap_rnd_bits=28" >&2; exit 1; }
fi

for preset in "${presets[@]}"; do
  echo "== $preset: build"
  cmake --preset "$preset" --log-level=WARNING
  cmake --build --preset "$preset"
  echo "== $preset: test"
  "${run[@]}" ctest --preset "$preset"
done
