#!/usr/bin/env bash
# Formats every C++ file of the project with .clang-format; with --check changes nothing and names what is not formatted.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v clang-format >/dev/null || { echo "format: expected clang-format, found none; run scripts/install_deps.sh" >&2; exit 1; }
mapfile -d '' files < <(git ls-files -z -- '*.h' '*.cc' '*.c')
if [[ ${1-} == --check ]]; then
  clang-format --dry-run --Werror "${files[@]}" || { echo "format: the files above differ from .clang-format; run: make format" >&2; exit 1; }
else
  clang-format -i "${files[@]}"
fi
