#!/usr/bin/python3
"""Installs a build into a folder of its own, and builds and runs clients against what is there.

install_test.py CMAKE BUILD_FOLDER SOURCE_FOLDER CC CXX
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

DEADLINE_S = 200
ANY_PORT = "tcp://127.0.0.1:0"


class Install(unittest.TestCase):
    cmake: str
    build: Path
    sources: Path
    cc: str
    cxx: str

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.prefix = cls.folder / "prefix"
        cls.environment = {**os.environ, "SIDEBAND_SPOOL_DIR": str(cls.folder / "spool")}
        cls.environment.pop("SIDEBAND_RUN_ID", None)
        cls.run_program(cls.cmake, "--install", str(cls.build), "--prefix", str(cls.prefix))
        collector = subprocess.Popen(
            [cls.prefix / "bin/sideband", "collect", "--data-dir", cls.folder / "data", "--print-endpoints",
             "--control", ANY_PORT, "--data", ANY_PORT, "--tap", ANY_PORT],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        cls.addClassCleanup(collector.wait, DEADLINE_S)
        cls.addClassCleanup(collector.terminate)
        cls.addClassCleanup(collector.stdout.close)
        cls.environment["SIDEBAND_COLLECTOR"] = json.loads(collector.stdout.readline())["connect"]

    @classmethod
    def run_program(cls, *command: str, **environment: str) -> str:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            env={**cls.environment, **environment}, timeout=DEADLINE_S,
        )  # fmt: skip
        if done.returncode:
            raise AssertionError(f"expected exit code 0, found {done.returncode}: {' '.join(command)}\n{done.stdout}")
        return done.stdout

    def library_folder(self) -> str:
        return str(next(self.prefix.rglob("libsideband_sender.so")).parent)

    def test_client_that_finds_the_package_builds_and_logs(self) -> None:
        client = self.folder / "client"
        self.run_program(
            self.cmake, "-S", str(self.sources / "tests/install/client"), "-B", str(client), f"-DCMAKE_PREFIX_PATH={self.prefix}",
            f"-DQUICKSTART={self.sources / 'examples/quickstart/quickstart.cc'}",
            f"-DCMAKE_C_COMPILER={self.cc}", f"-DCMAKE_CXX_COMPILER={self.cxx}",
        )  # fmt: skip
        self.run_program(self.cmake, "--build", str(client))
        for program in ("cpp_client", "c_client"):
            with self.subTest(program):
                self.assertIn("is stored", self.run_program(str(client / program)))

    def test_one_compiler_call_is_enough(self) -> None:
        program = str(self.folder / "one_call")
        self.run_program(
            self.cxx, "-std=c++20", str(self.sources / "examples/quickstart/quickstart.cc"), "-I", str(self.prefix / "include/sideband"),
            "-L", self.library_folder(), "-lsideband_sender", "-o", program,
        )  # fmt: skip
        self.assertIn("is stored", self.run_program(program, LD_LIBRARY_PATH=self.library_folder()))

    def test_no_file_names_the_source_folder(self) -> None:
        package = [path for path in self.prefix.rglob("*.cmake")]
        self.assertGreaterEqual(len(package), 4)
        for path in package:
            self.assertNotIn(str(self.sources), path.read_text(encoding="utf-8"), path)


if __name__ == "__main__":
    Install.cmake, Install.build, Install.sources, Install.cc, Install.cxx = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), *sys.argv[4:6]
    unittest.main(argv=sys.argv[:1])
