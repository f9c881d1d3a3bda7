"""The golden transcripts against this folder's own sender and collector: they are what makes them, and pass the same play
that the real programs are held to.
"""

import dataclasses
import subprocess
import sys
import unittest

import make_transcripts
from collector import Collector
from contract import pb
from conversation import Event
from play import CollectorRole, SenderRole
from support import GOLDEN, run_sender, run_tests
from transcript import format_transcript, read_release_transcript, read_transcript

DEADLINE_S = 30


def transcripts(drives: str) -> list:
    """(name, transcript) of all that can be held to this program: those of the protocol as it is, and those of each release."""
    found = [(path.stem, read_transcript(path)) for path in sorted(make_transcripts.FOLDER.glob("*.txt"))]
    for path in sorted(GOLDEN.glob("release_*/transcripts/*.txt")):
        found.append((f"{path.parents[1].name}/{path.stem}", read_release_transcript(path)))
    return [(name, transcript) for name, transcript in found if drives in transcript.drives]


class Files(unittest.TestCase):
    def test_the_committed_transcripts_are_what_the_generator_makes(self):
        script = make_transcripts.__file__
        self.assertEqual(subprocess.run([sys.executable, "-B", script, "--check"], check=False).returncode, 0)

    def test_each_file_reads_back_to_its_text(self):
        for path in make_transcripts.FOLDER.glob("*.txt"):
            self.assertEqual(format_transcript(read_transcript(path)), path.read_text())

    def test_a_field_that_a_release_did_not_have_is_no_difference(self):
        lines = read_release_transcript(next(GOLDEN.glob("release_*/transcripts/first_session.txt"))).lines
        ack = next(line for line in lines if not isinstance(line, Event) and line.type == "ACK")
        later = pb.Ack.FromString(ack.message.SerializeToString())
        earlier = dataclasses.replace(ack, message=pb.Ack(version=1), known=frozenset(["version"]))
        self.assertEqual(earlier.differences(later), [])


class Collecting(unittest.TestCase):
    def test_the_independent_collector_answers_as_in_each_transcript(self):
        for name, transcript in transcripts("collector"):
            with self.subTest(name), Collector() as collector, SenderRole(collector.control) as role:
                role.play(transcript)


class Sending(unittest.TestCase):
    def test_the_independent_sender_speaks_as_in_each_transcript(self):
        for name, transcript in transcripts("sender"):
            with self.subTest(name), CollectorRole() as role:
                sender = run_sender(
                    role.control, "--points=6", "--keys=2", "--rows-per-frame=2", "--project=golden", "--run-id=golden-run"
                )
                role.play(transcript)
                self.assertEqual(sender.wait(DEADLINE_S), 1 if "version" in name else 0)


if __name__ == "__main__":
    run_tests()
