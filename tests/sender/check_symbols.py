#!/usr/bin/python3
"""The sender's shared library meets what a trainer has loaded already: it may show only its own interface and need no protobuf.

usage: check_symbols.py LIBRARY. Exit code 0: all holds; 1: something does not, said line by line.
"""
import re
import subprocess
import sys

# What the library may show: the C interface and the public classes.
OWN = re.compile(r"^(sideband_\w+|sideband::(Run|Row|Scalar)::.*)$")
FOREIGN = re.compile(r"protobuf|absl::|fmt::")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbols(library, which):
    lines = run("nm", "-D", "-C", which, library).splitlines()
    return [re.sub(r"^[0-9a-f]*\s+\w\s+", "", line) for line in lines if line.strip()]


def check(library):
    exported = symbols(library, "--defined-only")
    problems = [f"exports a symbol that is not its interface: {name}" for name in exported if not OWN.match(name)]
    if not any(name.startswith("sideband_open") for name in exported):
        problems.append("does not export sideband_open")
    problems += [f"imports {name}" for name in symbols(library, "--undefined-only") if FOREIGN.search(name)]
    problems += [f"needs {line.strip()}" for line in run("ldd", library).splitlines() if re.search(r"protobuf|libfmt", line)]
    return problems


def main():
    library = sys.argv[1]
    problems = check(library)
    for problem in problems:
        print(f"check_symbols: {problem}: {library}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
