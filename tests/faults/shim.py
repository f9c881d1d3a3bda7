"""The control file of fault_shim.c: which calls of one process fail or wait, and how far its wall clock is off."""

import errno
import mmap
import os
import pathlib
import struct

from support import binary

CALLS = ("write", "sync", "allocate", "map")
RULE_BYTES, PATH_BYTES = 32, 256
ALWAYS = -1


class Shim:
    """Owned by the harness; the process that runs with `environment` maps the same file."""

    def __init__(self, file: pathlib.Path, concerned_path: pathlib.Path):
        self.synced = file.with_suffix(".synced")
        self.environment = {
            "LD_PRELOAD": binary("fault_shim"), "SIDEBAND_FAULTS": str(file), "SIDEBAND_SYNCED": str(self.synced),
        }  # fmt: skip
        path = str(concerned_path).encode()
        if len(path) >= PATH_BYTES:
            raise ValueError(f"watch a path: expected less than {PATH_BYTES} bytes, found {len(path)}: {concerned_path}")
        file.write_bytes(bytes(len(CALLS) * RULE_BYTES + 8) + path.ljust(PATH_BYTES, b"\0"))
        with open(file, "r+b") as opened:
            self._map = mmap.mmap(opened.fileno(), 0)

    def fail(self, call: str, error: int = errno.ENOSPC, times: int = ALWAYS) -> None:
        self._set(call, error, times, 0)

    def delay(self, call: str, delay_us: int) -> None:
        self._set(call, 0, ALWAYS, delay_us)

    def heal(self, call: str) -> None:
        self._set(call, 0, 0, 0)

    def hits(self, call: str) -> int:
        return struct.unpack_from("<q", self._map, CALLS.index(call) * RULE_BYTES + 24)[0]

    def shift_wall_clock(self, seconds: float) -> None:
        struct.pack_into("<q", self._map, len(CALLS) * RULE_BYTES, int(seconds * 1e9))

    def lose_unsynced(self, folder: pathlib.Path) -> None:
        """What a power cut leaves of `folder`: of each file what its last sync covered; a file whose name was never synced
        is gone. The process must not run."""
        sizes: dict[str, int] = {}
        for line in self.synced.read_text().splitlines() if self.synced.exists() else []:
            size, path = line.split(" ", 1)
            sizes[path] = int(size)
        for file in folder.rglob("*.log"):
            if str(file.parent) not in sizes:
                file.unlink()
            else:
                os.truncate(file, min(sizes.get(str(file), 0), file.stat().st_size))

    def _set(self, call: str, error: int, times: int, delay_us: int) -> None:
        at = CALLS.index(call) * RULE_BYTES
        struct.pack_into("<q", self._map, at, 0)  # off while the rest changes
        struct.pack_into("<qq", self._map, at + 8, times, delay_us)
        struct.pack_into("<q", self._map, at, error)
