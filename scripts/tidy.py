#!/usr/bin/python3
"""Runs clang-tidy over the project's own .cc files, two at a time, and remembers those that were clean.

    tidy.py [BUILD_FOLDER]     default build/dev; needs its compile_commands.json

A file is looked at again when it, a header of ours that it includes (directly or not), its compile command, .clang-tidy or
clang-tidy itself changed. The memory is a folder of empty files named by a hash of all that: $SIDEBAND_TIDY_CACHE, else
sideband-tidy in $XDG_CACHE_HOME or ~/.cache.
Exit code: 0 clean, 1 findings or a failure.
"""

import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("frame", "sender", "collector", "tools", "examples")
JOBS = 2
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def cache_folder() -> Path:
    if folder := os.environ.get("SIDEBAND_TIDY_CACHE"):
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sideband-tidy"


def own_headers(file: Path, seen: set[Path]) -> set[Path]:
    """`file` and every header of ours that it pulls in. Generated headers do not count: the .proto does not change what our code does."""
    if file in seen or not file.is_file():
        return seen
    seen.add(file)
    for name in INCLUDE.findall(file.read_text(encoding="utf-8")):
        own_headers(ROOT / name, seen)
    return seen


def portable_command(entry: dict[str, str]) -> str:
    """The flags, without what differs from checkout to checkout."""
    words = shlex.split(entry["command"])
    return " ".join(word for word in words[1:] if word.startswith(("-std", "-D", "-W", "-f", "-O")))


def key_of(entry: dict[str, str], common: bytes) -> str:
    digest = hashlib.sha256(common)
    digest.update(portable_command(entry).replace(str(ROOT), "").encode())
    for path in sorted(own_headers(Path(entry["file"]), set())):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def run_tidy(file: str, build: Path) -> tuple[bool, str]:
    command = ["clang-tidy", "--quiet", f"-p={build}", "--extra-arg=-Wno-unknown-warning-option", file]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.returncode == 0, result.stdout + ("" if result.returncode == 0 else result.stderr)


def read_entries(build: Path) -> list[dict[str, str]]:
    entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    ours = {}
    for entry in entries:
        path = Path(entry["file"])
        if path.suffix == ".cc" and path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in ROOMS:
            ours[entry["file"]] = entry
    return [ours[file] for file in sorted(ours)]


def main() -> int:
    build = (Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "dev").resolve()
    try:
        entries = read_entries(build)
        version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"tidy: expected clang-tidy and a configured build folder (cmake --preset dev); {error}", file=sys.stderr)
        return 1
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    common = version + (ROOT / ".clang-tidy").read_bytes()
    stale = [(entry["file"], cache / key_of(entry, common)) for entry in entries]
    stale = [(file, stamp) for file, stamp in stale if not stamp.exists()]
    print(f"tidy: {len(entries)} files, {len(entries) - len(stale)} known to be clean", flush=True)

    dirty = 0
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        runs = {pool.submit(run_tidy, file, build): (file, stamp) for file, stamp in stale}
        for run in concurrent.futures.as_completed(runs):
            file, stamp = runs[run]
            clean, output = run.result()
            if clean:
                stamp.touch()
            else:
                dirty += 1
                print(f"tidy: {Path(file).relative_to(ROOT)}\n{output}", flush=True)
    print(f"tidy: {dirty} files with findings")
    return 1 if dirty else 0


if __name__ == "__main__":
    sys.exit(main())
