"""The real collector against the golden transcripts: it answers the sender's lines as they say."""

import pathlib
import tempfile
import unittest

from play import SenderRole
from support import RealCollector, run_tests
from transcript_test import transcripts


class Transcripts(unittest.TestCase):
    def test_the_collector_answers_as_in_each_transcript(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name, transcript in transcripts("collector"):
            with self.subTest(name), RealCollector(folder / name) as collector, SenderRole(collector.connect) as role:
                role.play(transcript)


if __name__ == "__main__":
    run_tests()
