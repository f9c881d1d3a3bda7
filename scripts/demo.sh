#!/usr/bin/env bash
# Builds Sideband, trains the digits example beside a collector of its own, and shows what was stored.
#
# Data: $SIDEBAND_DATA, else build/demo-data. Spools: build/demo-spool. The collector listens on free ports of 127.0.0.1 and ends with this script.
set -euo pipefail
cd "$(dirname "$0")/.."

bin=build/release/bin
data=${SIDEBAND_DATA:-build/demo-data}
collector_log=build/demo-collector.log
report=build/demo-report.json
spool=build/demo-spool

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[[ -t 1 ]] || say() { printf '\n%s\n' "$*"; }

build() {
  say "Building (build/release)"
  cmake --preset release >build/demo-configure.log || { cat build/demo-configure.log >&2; exit 1; }
  cmake --build --preset release --target sideband digits
}

collector_pid=
stop_collector() {
  [[ -n $collector_pid ]] || return 0
  kill -TERM "$collector_pid" 2>/dev/null || true
  wait "$collector_pid" 2>/dev/null || true
  collector_pid=
}
trap stop_collector EXIT
interrupted() {
  trap '' INT
  echo
  echo "demo: interrupted; what was stored is in $data, what was not yet delivered in $spool (docs/operations.md, section 3)" >&2
  exit 130
}
trap interrupted INT
trap 'exit 143' TERM

# Its one line on stdout, when it is ready, says where it listens.
start_collector() {
  exec 3< <(exec "$bin/sideband" collect --data-dir "$data" --print-endpoints \
    --control tcp://127.0.0.1:0 --data tcp://127.0.0.1:0 --tap tcp://127.0.0.1:0 2>"$collector_log")
  collector_pid=$!
  if ! read -r -t 10 -u 3 endpoints; then
    echo "demo: expected the collector to say where it listens within 10 s; it said:" >&2
    cat "$collector_log" >&2
    exit 1
  fi
  SIDEBAND_COLLECTOR=$(field connect <<<"$endpoints")
  tap=$(field connect_tap <<<"$endpoints")
  export SIDEBAND_COLLECTOR
}

field() { /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

train() {
  SIDEBAND_SPOOL_DIR=$spool "$bin/digits" --ranks 4 --hidden 256 --epochs 400 --lr 0.02 --report "$report"
}

# What the trainers counted against what the data folder holds.
compare_points() {
  local runs
  runs=$("$bin/sideband" runs --data-dir "$data" --json)
  /usr/bin/python3 - "$report" "$runs" <<'PYTHON'
import json
import sys

report = json.load(open(sys.argv[1], encoding="utf-8"))
run = next(run for run in json.loads(sys.argv[2]) if run["id"] == report["run_id"])
logged, dropped, stored = report["points_logged"], report["points_dropped"], run["points"]
lost = max(dropped, logged - stored)
print(f"points logged {logged:,}   stored {stored:,}   lost {lost:,}")
if lost:
    sys.exit("demo: expected every logged point to be stored")
PYTHON
}

mkdir -p build
build
start_collector
say "Training: 4 processes, one run, collector ${SIDEBAND_COLLECTOR%%\?*}"
train
say "sideband runs"
"$bin/sideband" runs --data-dir "$data"
say "sideband series latest train/loss --plot"
"$bin/sideband" series latest train/loss --plot --data-dir "$data"
say "What was logged and what is stored"
compare_points
run_id=$(field run_id <"$report")

say "Look further"
cat <<TEXT
  every frame of the run    $bin/sideband dump $data/runs/$run_id
  all its metrics           $bin/sideband series latest --data-dir $data
  as CSV                    $bin/sideband series latest val/acc --csv --data-dir $data
  are the files whole?      $bin/sideband verify $data
TEXT
if [[ -t 0 ]]; then
  cat <<TEXT
  sniff a training live     SIDEBAND_TAP='$tap' $bin/sideband dump --tap
  log to this collector     SIDEBAND_COLLECTOR='$SIDEBAND_COLLECTOR' $bin/digits

TEXT
  trap "echo; exit 0" INT
  read -r -p "The collector is still running; press Enter to stop it. " || true
fi
