"""`sideband dump` and this folder's scanner on the same damaged bytes: two readings of docs/format.md, section 8."""

import json
import pathlib
import random
import subprocess
import tempfile
import unittest

from frames_test import describe
from sideband_frames import scan
from support import GOLDEN, binary, run_tests

FILES = 200


def damaged(seed: int) -> bytes:
    """The golden frames in one row, with a few wounds of every kind."""
    choose = random.Random(seed)
    data = bytearray(b"".join(path.read_bytes() for path in sorted(GOLDEN.glob("*.frames"))))
    for _ in range(choose.randrange(1, 8)):
        at = choose.randrange(len(data))
        match choose.randrange(6):
            case 0:
                data[at] ^= 1 << choose.randrange(8)
            case 1:
                data[at:at] = choose.randbytes(choose.randrange(1, 60))
            case 2:
                del data[at : at + choose.randrange(1, 60)]
            case 3:
                data[at:at] = b"Z" * choose.randrange(1, 9)
            case 4:
                # A header that is good but for its checksum, with a length that may lead anywhere.
                data[at:at] = b"ZZZZ" + choose.randrange(300_000).to_bytes(4, "little") + b"\1" + choose.randbytes(4)
            case 5:
                del data[len(data) - choose.randrange(40) :]
    return bytes(data)


class Dump(unittest.TestCase):
    maxDiff = 4_000

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def dump(self, files: list[pathlib.Path]) -> dict[str, list[dict]]:
        """What dump says of each item, by file, but for messages and the words of a reason."""
        told = subprocess.run([binary("sideband"), "dump", "--json", *files], capture_output=True, check=False, timeout=120)
        self.assertEqual(told.returncode, 3, told.stderr)
        items: dict[str, list[dict]] = {}
        for line in map(json.loads, told.stdout.splitlines()):
            if "damage_bytes" in line:
                line["torn"] = line.pop("reason") == "torn tail"
            line.pop("message", None)
            items.setdefault(line.pop("file"), []).append(line)
        return items

    def test_both_readers_see_the_same_frames_damage_and_torn_tails(self):
        files = [self.folder / f"damaged-{seed}.frames" for seed in range(FILES)]
        for seed, file in enumerate(files):
            file.write_bytes(damaged(seed))
        dumped = self.dump(files)
        for file in files:
            found = [describe(item) for item in scan(file.read_bytes())]
            for item in found:
                item.pop("message", None)
            self.assertEqual(dumped[str(file)], found, file.name)


if __name__ == "__main__":
    run_tests()
