"""The real sender against the golden transcripts: it speaks the sender's lines as they say."""

import pathlib
import tempfile
import unittest

from play import CollectorRole
from support import run_cpp_sender, run_tests
from transcript_test import transcripts

DEADLINE_S = 60
NOT_DELIVERED = 3


class Transcripts(unittest.TestCase):
    def test_the_sender_speaks_as_in_each_transcript(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name, transcript in transcripts("sender"):
            with self.subTest(name), CollectorRole() as role:
                deadline_ms = 2_000 if "version" in name else 60_000
                sender = run_cpp_sender(role.control, folder / name, "golden", "golden-run", 6, 2, 1, deadline_ms)
                role.play(transcript)
                sender.communicate(timeout=DEADLINE_S)
                self.assertEqual(sender.returncode, NOT_DELIVERED if "version" in name else 0)


if __name__ == "__main__":
    run_tests()
