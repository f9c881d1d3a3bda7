#!/usr/bin/env bash
# Installs every Debian 12 package that building, testing and running Sideband needs. Idempotent: asks apt only for what is missing.
# Needs root or sudo. This is the one list of packages; nothing else installs any.
set -euo pipefail

packages=(
  # build
  build-essential ccache cmake git ninja-build pkg-config
  clang clang-format clang-tidy libclang-rt-14-dev        # libFuzzer and the linters
  # libraries
  cppzmq-dev libzmq3-dev                                   # transport
  libprotobuf-dev protobuf-compiler                        # collector, tools, tests
  libprotozero-dev                                         # the sender's encoder: no libprotobuf in a trainer
  libcli11-dev libexpected-dev libfmt-dev libre2-dev libspdlog-dev libxxhash-dev libzstd-dev nlohmann-json3-dev
  libbenchmark-dev libgtest-dev
  # the independent implementation in tests/independent
  python3 python3-protobuf python3-xxhash python3-zmq python3-zstandard
  # tests read symbol tables and process lists, and check what deploy/ holds
  binutils procps python3-yaml systemd
)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
  [[ $status == "install ok installed" ]] || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  exit 0
fi

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  command -v sudo >/dev/null || { echo "install_deps: expected root or sudo, found neither; run as root: apt-get install ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
echo "install_deps: installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
