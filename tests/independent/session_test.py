"""The rules of docs/protocol.md, without sockets: this folder's sender and collector in one conversation."""

import unittest

import collector_session
from contract import BYE, CONFIG, COMMIT, CREDIT, ERROR, FIN, LOG, PING, SKIP, SYN, END, ACK, pb
from conversation import PEER, Conversation, Event, Message
from points import PointReader
from sender_session import CLOSED, CONNECTING, CONFIGURING, LINKING, SPOOL_ONLY, STREAMING, RolledBack
from sideband_frames import decode_frame, decode_stream_seq, encode_frame
from support import run_tests


class Talk(Conversation):
    """A conversation with verbs for the tests."""

    def types(self) -> list[int]:
        return [line.msg_type for line in self.lines if isinstance(line, Message)]

    def answers(self, msg_type: int, message_class) -> list:
        return [
            message_class.FromString(decode_frame(line.frame).payload)
            for line in self.lines
            if isinstance(line, Message) and line.direction == "<" and line.msg_type == msg_type
        ]

    def stored_seqs(self) -> list[int]:
        return [decode_stream_seq(f.payload)[1] for f in self.collector.streams[self.identity.stream_id].frames]

    def stored_types(self) -> list[int]:
        return [f.msg_type for f in self.collector.streams[self.identity.stream_id].frames]


class SessionCase(unittest.TestCase):
    def setUp(self):
        self.talk = Talk()
        self.talk.log(rows=2)

    def start_streaming(self) -> None:
        self.talk.start()
        self.assertEqual(self.talk.sender.state, STREAMING)


class Handshake(SessionCase):
    def test_goes_syn_ack_config_credit_data(self):
        self.talk.start()
        self.assertEqual(self.talk.types(), [SYN, ACK, CONFIG, CREDIT, CONFIG, LOG, LOG])

    def test_the_first_frame_waits_for_the_subscription(self):
        self.talk.start()
        subscribed = self.talk.lines.index(Event("subscribed"))
        first = next(i for i, line in enumerate(self.talk.lines) if getattr(line, "channel", "") == "data")
        self.assertLess(subscribed, first)

    def test_an_ack_to_an_older_syn_is_dropped(self):
        self.talk.sender.start(self.talk.now)
        stale = pb.Ack(syn_nonce=1, token=5, resume_seq=1, data_endpoint="tcp://127.0.0.1:1")
        self.talk.sender.handle_control(encode_frame(ACK, stale.SerializeToString()), self.talk.now)
        self.assertEqual(self.talk.sender.state, CONNECTING)

    def test_no_subscription_within_5_s_begins_again(self):
        self.talk.sender.start(self.talk.now)
        ack = pb.Ack(syn_nonce=self.talk.sender._syn_nonce, token=5, resume_seq=1)
        self.talk.sender.handle_control(encode_frame(ACK, ack.SerializeToString()), self.talk.now)
        self.assertEqual(self.talk.sender.state, LINKING)
        self.talk.sender.tick(self.talk.now + 5)
        self.assertEqual(self.talk.sender.state, CONNECTING)

    def test_config_is_repeated_every_2_s_until_credit_comes(self):
        self.test_no_subscription_within_5_s_begins_again()
        ack = pb.Ack(syn_nonce=self.talk.sender._syn_nonce, token=5, resume_seq=1)
        self.talk.sender.handle_control(encode_frame(ACK, ack.SerializeToString()), self.talk.now)
        self.talk.sender.handle_link(True, self.talk.now)
        self.talk.sender.actions.clear()
        self.talk.sender.tick(self.talk.now + 2)
        self.assertEqual(self.talk.sender.state, CONFIGURING)
        self.assertEqual([decode_frame(a.frame).msg_type for a in self.talk.sender.actions], [CONFIG])

    def test_another_version_is_fatal_and_both_ranges_are_named(self):
        self.talk.sender.min_version = self.talk.sender.max_version = 9
        self.talk.start()
        (error,) = self.talk.answers(ERROR, pb.ErrorReport)
        self.assertEqual((error.code, error.fatal, self.talk.sender.state), (pb.ErrorReport.CODE_VERSION, True, SPOOL_ONLY))

    def test_a_collector_ahead_of_the_spool_means_a_new_stream(self):
        self.start_streaming()
        self.talk.commit()
        self.talk.store.segments.clear()
        self.talk.writer.begin_segment()
        with self.assertRaises(RolledBack):
            self.talk.start()


class Streaming(SessionCase):
    def test_every_frame_is_stored_once_and_in_order(self):
        self.start_streaming()
        self.talk.log(rows=3)
        self.talk.exchange()
        self.assertEqual(self.talk.stored_seqs(), [1, 2, 3, 4])

    def test_a_lost_frame_is_a_gap_and_comes_again(self):
        self.start_streaming()
        self.talk.commit()
        self.talk.lose_data = 1
        for _ in range(2):
            self.talk.log(rows=1)
        self.talk.exchange()
        self.assertEqual(self.talk.stored_seqs(), [1, 2, 3, 4, 5])
        self.assertEqual(self.talk.answers(ERROR, pb.ErrorReport)[0].code, pb.ErrorReport.CODE_RESYNC)

    def test_a_lost_tail_is_noticed_by_two_pongs(self):
        self.start_streaming()
        self.talk.lose_data = 1
        self.talk.log(rows=1)
        self.talk.exchange()
        for _ in range(3):
            self.talk.pass_time(31)
        self.assertEqual(self.talk.stored_seqs(), [1, 2, 3, 4])

    def test_a_duplicate_is_counted_and_dropped(self):
        self.start_streaming()
        self.talk.say_data(self.talk.sender.token, self.talk.store.get(2))
        self.assertEqual(self.talk.stored_seqs(), [1, 2, 3])
        self.assertEqual(self.talk.collector.counters["duplicate"], 1)

    def test_a_stale_token_is_counted_and_dropped(self):
        self.start_streaming()
        self.talk.log(rows=1)
        self.talk.say_data(999, self.talk.store.get(4))
        self.assertEqual(self.talk.stored_seqs(), [1, 2, 3])
        self.assertEqual(self.talk.collector.counters["unknown token"], 1)

    def test_a_bad_checksum_is_counted_and_the_gap_heals_it(self):
        self.start_streaming()
        self.talk.log(rows=1)
        broken = bytearray(self.talk.store.get(4))
        broken[-1] ^= 1
        self.talk.say_data(self.talk.sender.token, bytes(broken))
        self.talk.exchange()
        self.assertEqual((self.talk.stored_seqs(), self.talk.collector.counters["bad frame"]), ([1, 2, 3, 4], 1))

    def test_sending_stops_at_the_credit(self):
        before, collector_session.CREDIT_FRAMES = collector_session.CREDIT_FRAMES, 2
        self.addCleanup(setattr, collector_session, "CREDIT_FRAMES", before)
        self.talk.start()
        self.assertEqual(self.talk.sender.sent_seq, 2)

    def test_a_second_without_credit_brings_a_ping_and_the_pong_brings_credit(self):
        self.test_sending_stops_at_the_credit()
        self.talk.exchange()
        self.talk.pass_time(1)
        self.assertIn(PING, self.talk.types())
        self.assertEqual(self.talk.sender.sent_seq, 3)

    def test_a_spool_trimmed_elsewhere_begins_with_a_skip(self):
        self.talk.writer.begin_segment()
        self.talk.store.trim(3)
        self.start_streaming()
        self.assertEqual(self.talk.stored_types(), [SKIP, CONFIG, LOG])
        self.assertEqual(self.talk.stored_seqs(), [1, 4, 5])

    def test_a_frame_that_rotted_in_the_spool_becomes_a_skip(self):
        rotten = bytearray(self.talk.store.get(2))
        rotten[20] ^= 1
        self.talk.store.replace(2, bytes(rotten))
        self.start_streaming()
        self.assertEqual(self.talk.stored_types(), [CONFIG, SKIP, LOG])

    def test_a_failed_sync_brings_everything_not_durable_again(self):
        self.start_streaming()
        self.talk.commit()
        self.talk.log(rows=1)
        self.talk.exchange()
        self.talk.answer(self.talk.collector.void_sessions("sync failed"))
        self.talk.exchange()
        self.assertEqual(self.talk.stored_seqs(), [1, 2, 3, 4])


class Ending(SessionCase):
    def test_fin_is_answered_by_commit_and_bye(self):
        self.start_streaming()
        self.talk.finish()
        self.talk.exchange()
        self.talk.commit()
        self.assertEqual(self.talk.types()[-4:], [END, FIN, COMMIT, BYE])
        self.assertEqual(self.talk.sender.state, CLOSED)

    def test_commit_frees_whole_segments_only(self):
        self.talk.writer.begin_segment()
        self.talk.log(rows=1)
        self.start_streaming()
        self.talk.commit()
        self.assertEqual((self.talk.store.oldest_seq, self.talk.store.head_seq), (4, 6))

    def test_bye_stopping_leads_back_to_connecting(self):
        self.start_streaming()
        bye = pb.Bye(token=self.talk.sender.token, reason=pb.Bye.REASON_STOPPING, retry_after_ms=100)
        self.talk.sender.handle_control(encode_frame(BYE, bye.SerializeToString()), self.talk.now)
        self.assertEqual(self.talk.sender.state, CONNECTING)

    def test_three_silent_intervals_lead_back_to_connecting(self):
        self.start_streaming()
        self.talk.sender.tick(self.talk.now + 90)
        self.assertEqual(self.talk.sender.state, CONNECTING)


class Refusals(SessionCase):
    def test_the_spool_goes_to_who_opened_it_last(self):
        self.start_streaming()
        self.talk.sender = self.talk.new_sender(open_count=2, first_id=0x200)
        self.talk.start()
        self.talk.sender = self.talk.new_sender(open_count=1, first_id=0x100)
        self.talk.start()
        self.assertEqual(self.talk.sender.last_error.code, pb.ErrorReport.CODE_FENCED)

    def test_a_stream_id_of_another_spool_is_a_clash(self):
        self.start_streaming()
        self.talk.store.segments.clear()
        self.talk.identity.spool_id = bytes(16)
        self.talk.writer.begin_segment()
        self.talk.start()
        self.assertEqual(self.talk.sender.last_error.code, pb.ErrorReport.CODE_STREAM_CLASH)

    def test_a_ping_of_a_session_that_is_gone_is_answered_by_an_error(self):
        self.start_streaming()
        self.talk.say_control(encode_frame(PING, pb.Ping(token=77).SerializeToString()))
        self.assertEqual(self.talk.answers(ERROR, pb.ErrorReport)[0].code, pb.ErrorReport.CODE_UNKNOWN_TOKEN)

    def test_an_unknown_type_is_refused_unless_it_may_be_ignored(self):
        self.talk.say_control(encode_frame(0xC1, b""))
        self.talk.say_control(encode_frame(0x7F, b""))
        self.assertEqual([e.code for e in self.talk.answers(ERROR, pb.ErrorReport)], [pb.ErrorReport.CODE_UNSUPPORTED])

    def test_bytes_that_are_no_frame_are_answered_by_an_error(self):
        ((peer, frame),) = self.talk.collector.handle_control(PEER, b"GET / HTTP/1.1")
        self.assertEqual(pb.ErrorReport.FromString(decode_frame(frame).payload).code, pb.ErrorReport.CODE_BAD_FRAME)


class Reading(SessionCase):
    def test_a_stored_stream_reads_back_to_its_points(self):
        self.start_streaming()
        reader = PointReader()
        for frame in self.talk.collector.streams[self.talk.identity.stream_id].frames:
            reader.feed(frame)
        self.assertEqual(len(reader.points), self.talk.writer.points)


if __name__ == "__main__":
    run_tests()
