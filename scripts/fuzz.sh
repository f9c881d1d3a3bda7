#!/usr/bin/env bash
# Fuzzes each target of tests/fuzz for SECONDS (default 60), with clang, libFuzzer and the address and undefined sanitizers.
#   scripts/fuzz.sh [SECONDS] [TARGET...]
# New inputs gather in build/fuzz/corpus and are kept from run to run; those worth committing go to tests/fuzz/corpus. A crash
# leaves its input in build/fuzz and ends the script with an error.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
targets=("${@:2}")
[[ $# -gt 1 ]] || targets=(collector_session filter frame log recovery sender_message sender_session)

cmake -S . -B build/fuzz -G Ninja --log-level=WARNING -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DSIDEBAND_BENCH=OFF -DSIDEBAND_FUZZ=ON \
  -DSIDEBAND_SANITIZE=address,undefined -DCMAKE_CXX_FLAGS=-fsanitize=fuzzer-no-link
cmake --build build/fuzz -j2 --target "${targets[@]/%/_fuzz}"

for target in "${targets[@]}"; do
  echo "== $target: $seconds s"
  mkdir -p "build/fuzz/corpus/$target"
  "build/fuzz/bin/${target}_fuzz" -max_total_time="$seconds" -max_len=8192 -rss_limit_mb=1024 -timeout=10 \
    -artifact_prefix=build/fuzz/ -print_final_stats=1 "build/fuzz/corpus/$target" "tests/fuzz/corpus/$target"
done
