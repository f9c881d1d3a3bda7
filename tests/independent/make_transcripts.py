"""Writes the golden transcripts: what this folder's sender and collector say to each other, ids and clocks held still.

    make_transcripts.py           writes tests/golden/transcripts/*.txt
    make_transcripts.py --check   writes nothing; exits 1 and names the files that would change
"""

import pathlib
import sys
from collections.abc import Callable

from contract import BYE, FIN, PING, pb
from conversation import Conversation, Event
from frame_store import FrameStore
from sideband_frames import encode_frame
from stream_writer import Identity, StreamWriter
from transcript import Transcript, format_transcript, line_of

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "golden" / "transcripts"


def started() -> Conversation:
    """A session under way with CONFIG, the definitions and two rows sent."""
    talk = Conversation()
    talk.log(rows=2)
    talk.start()
    return talk


def finish(talk: Conversation) -> None:
    talk.finish()
    talk.exchange()
    talk.commit()


def first_session() -> Conversation:
    talk = started()
    talk.commit()
    talk.log(rows=1)
    talk.exchange()
    finish(talk)
    return talk


def resume() -> Conversation:
    talk = started()
    talk.commit()
    talk.log(rows=1)
    talk.sender.start(talk.now)
    talk.exchange()
    finish(talk)
    return talk


def nothing_left() -> Conversation:
    """The sender vanishes after its END is durable, and comes back only to hear BYE."""
    talk = started()
    talk.writer.end()
    talk.exchange()
    talk.commit()
    talk.sender.ended = True
    talk.sender.start(talk.now)
    talk.exchange()
    return talk


def gap() -> Conversation:
    talk = started()
    talk.commit()
    talk.lose_data = 1
    talk.log(rows=1)
    talk.log(rows=1)
    talk.exchange()
    finish(talk)
    return talk


def bad_checksum() -> Conversation:
    talk = started()
    talk.commit()
    talk.break_data = 1
    talk.log(rows=1)
    talk.log(rows=1)
    talk.exchange()
    finish(talk)
    return talk


def stale_token() -> Conversation:
    talk = started()
    talk.commit()
    stale = talk.sender.token
    talk.sender.start(talk.now)
    talk.exchange()
    talk.say_control(encode_frame(PING, pb.Ping(token=stale, ping_id=1).SerializeToString()))
    talk.log(rows=1)
    talk.log(rows=1)
    talk.say_data(stale, talk.store.get(4))
    talk.say_data(talk.sender.token, talk.store.get(5))
    finish(talk)
    return talk


def duplicate() -> Conversation:
    talk = started()
    talk.commit()
    talk.say_data(talk.sender.token, talk.store.get(2))
    finish(talk)
    return talk


def trimmed() -> Conversation:
    talk = Conversation()
    talk.log(rows=1)
    talk.writer.begin_segment()
    talk.log(rows=1)
    talk.store.trim(3)
    talk.start()
    finish(talk)
    return talk


def rotten() -> Conversation:
    talk = Conversation()
    talk.log(rows=1)
    talk.log(rows=1)
    broken = bytearray(talk.store.get(3))
    broken[-1] ^= 1
    talk.store.replace(3, bytes(broken))
    talk.start()
    finish(talk)
    return talk


def version() -> Conversation:
    talk = Conversation()
    talk.log(rows=1)
    talk.sender.min_version, talk.sender.max_version = 98, 99
    talk.start()
    return talk


def version_of_collector() -> Conversation:
    talk = Conversation()
    talk.log(rows=2)
    talk.collector.min_version = talk.collector.max_version = 2
    talk.start()
    return talk


def fenced() -> Conversation:
    talk = started()
    talk.commit()
    talk.sender = talk.new_sender(open_count=2, first_id=0x5E4D100000000000)
    talk.lines.append(Event("close"))
    talk.start()
    talk.sender = talk.new_sender(open_count=1, first_id=0x5E4D200000000000)
    talk.lines.append(Event("close"))
    talk.start()
    return talk


def stream_clash() -> Conversation:
    talk = started()
    talk.commit()
    talk.lines.append(Event("close"))
    talk.store = FrameStore()
    other = Identity(talk.identity.stream_id, bytes(range(0x40, 0x50)), "golden", "golden-run")
    talk.writer = StreamWriter(other, talk.store, keys=2, seed=1)
    talk.log(rows=1)
    talk.sender = talk.new_sender(open_count=1, first_id=0x5E4D300000000000)
    talk.start()
    return talk


def bad_run_id() -> Conversation:
    talk = Conversation()
    talk.identity.run_id = "../elsewhere"
    talk.log(rows=1)
    talk.start()
    return talk


def unsupported() -> Conversation:
    talk = started()
    talk.commit()
    talk.say_control(encode_frame(0x7F, b""))
    talk.say_control(encode_frame(0xC0, b""))
    talk.say_control(b"GET / HTTP/1.1\r\n\r\n")
    finish(talk)
    return talk


def heartbeat() -> Conversation:
    talk = started()
    talk.commit()
    talk.pass_time(35)
    finish(talk)
    return talk


def fin_of_no_session() -> Conversation:
    talk = started()
    talk.say_control(encode_frame(FIN, pb.Fin(token=77, final_seq=3).SerializeToString()))
    return talk


def collector_ping() -> Conversation:
    talk = started()
    ping = pb.Ping(token=talk.sender.token, ping_id=5, sent_wall_ns=talk.wall_ns())
    talk.answer([(b"", encode_frame(PING, ping.SerializeToString()))])
    talk.exchange()
    finish(talk)
    return talk


def failed_sync() -> Conversation:
    talk = started()
    talk.answer(talk.collector.void_sessions("the disk failed"))
    talk.exchange()
    finish(talk)
    return talk


def stopping() -> Conversation:
    talk = started()
    bye = pb.Bye(token=talk.sender.token, reason=pb.Bye.REASON_STOPPING)
    # The next collector has the same data folder and none of the sessions.
    talk.collector.void_sessions("")
    talk.answer([(b"", encode_frame(BYE, bye.SerializeToString()))])
    talk.exchange()
    finish(talk)
    return talk


BOTH, COLLECTOR, SENDER = {"collector", "sender"}, {"collector"}, {"sender"}
SCENARIOS: dict[Callable[[], Conversation], tuple[set[str], str]] = {
    first_session: (BOTH, "A stream from its SYN to its BYE"),
    resume: (COLLECTOR, "The sender connects again and goes on behind what is durable"),
    nothing_left: (COLLECTOR, "The sender connects again when all is durable, to hear BYE"),
    gap: (COLLECTOR, "A frame is lost on the way: ERROR(RESYNC), and the stream goes on from the durable seq"),
    bad_checksum: (COLLECTOR, "A frame arrives broken: it is not answered, but the next one is a gap"),
    stale_token: (COLLECTOR, "PING under a void token is an ERROR(UNKNOWN_TOKEN); data under it is dropped, so the next frame is a gap"),
    duplicate: (COLLECTOR, "A frame that is stored already is dropped without an answer"),
    trimmed: (COLLECTOR, "The spool begins later than the collector's position: SKIP(TRIMMED) comes first"),
    rotten: (COLLECTOR, "A spooled frame fails its checksum: SKIP(CORRUPT) stands in its place"),
    version: (COLLECTOR, "The sender speaks other versions only"),
    version_of_collector: (SENDER, "The collector speaks other versions only"),
    fenced: (COLLECTOR, "Another process opened the spool later: the earlier one is refused"),
    stream_clash: (COLLECTOR, "The stream id belongs to another spool"),
    bad_run_id: (COLLECTOR, "A run id that would lead out of the data folder"),
    unsupported: (COLLECTOR, "An unknown type is refused, 0xC0 and above is ignored, noise is BAD_FRAME"),
    heartbeat: (COLLECTOR, "PING is answered by PONG"),
    fin_of_no_session: (COLLECTOR, "FIN under a token of no session"),
    collector_ping: (SENDER, "The collector's PING is answered by PONG"),
    failed_sync: (SENDER, "ERROR(RESYNC) voids the session: the sender comes back and sends again"),
    stopping: (SENDER, "BYE(STOPPING): the sender comes back and sends again what is not durable"),
}


def transcript_of(scenario: Callable[[], Conversation]) -> Transcript:
    drives, text = SCENARIOS[scenario]
    lines = [line if isinstance(line, Event) else line_of(line) for line in scenario().lines]
    return Transcript(frozenset(drives), text, lines)


def main() -> int:
    check = sys.argv[1:] == ["--check"]
    changed = []
    for scenario in SCENARIOS:
        path, text = FOLDER / f"{scenario.__name__}.txt", format_transcript(transcript_of(scenario))
        if not path.exists() or path.read_text() != text:
            changed.append(path)
            if not check:
                path.write_text(text)
    for path in changed:
        print(f"{'differs' if check else 'wrote'}: {path.name}")
    return 1 if check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
