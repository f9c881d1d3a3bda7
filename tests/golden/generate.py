#!/usr/bin/python3
"""Writes the golden files: frames as bytes, and what a dump of them must say as JSON lines.

    generate.py           writes *.frames and *.json beside this script
    generate.py --check   writes nothing; exits 1 and names the files that would change

The bytes are made from docs/format.md and proto/sideband.proto with Python's protobuf and xxhash alone: none of our own code
takes part, so a mistake of ours cannot be in both. The offsets and the damage are known from making them, not from a scan.
README.md describes each file. Needs Debian's python3-protobuf, python3-xxhash and protobuf-compiler.
"""

import pathlib
import struct
import sys

import xxhash

sys.dont_write_bytecode = True
from golden_file import TYPES, GoldenFile, checksum, field, frame, pb  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)

STREAM = 0x0123456789ABCDEF
OTHER_STREAM = 0xFEDCBA9876543210
SPOOL_ID = bytes(range(16))
OTHER_SPOOL_ID = bytes(range(16, 32))
STORE_ID = bytes(range(32, 48))
TOKEN = 0x1122334455667788
WALL_NS = 1_750_000_000_000_000_000
MONOTONIC_NS = 5_000_000_000


# ---- messages that several files share ----


def config(stream=STREAM, seq=1, spool=SPOOL_ID, rank=0):
    return pb.Config(
        stream_id=stream, seq=seq, spool_id=spool, project="demo", run_id="run-1", run_name="calm-otter", user="ada",
        rank=rank, world_size=2, local_rank=rank, host="node1", pid=4242 + rank,
        opened=pb.TimeAnchor(monotonic_ns=MONOTONIC_NS, wall_ns=WALL_NS), library="golden 1",
    )


def anchor(seconds=0):
    return pb.TimeAnchor(monotonic_ns=MONOTONIC_NS + seconds * 10**9, wall_ns=WALL_NS + seconds * 10**9)


def definitions():
    return {
        "keys": [pb.KeyDefinition(key_id=0, key="train/loss"), pb.KeyDefinition(key_id=1, key="train/tokens")],
        "tables": [pb.TableDefinition(table_id=0, key_ids=[0, 1], kinds=[pb.VALUE_KIND_FLOAT, pb.VALUE_KIND_INT])],
    }


def rows(first_step, losses):
    count = len(losses)
    return pb.TableRows(
        table_id=0, row_count=count, first_step=first_step, step_stride=1,
        first_time_monotonic_us=MONOTONIC_NS // 1000 + first_step * 1000, time_deltas_us=[1000] * (count - 1),
        columns=[pb.Column(float_values=losses), pb.Column(int_values=[1024 * (first_step + i) for i in range(count)])],
    )


def log(seq, first_step, losses, keyframe_seq=1, stream=STREAM, defined=False):
    return pb.Log(
        stream_id=stream, seq=seq, keyframe_seq=keyframe_seq, points_total=2 * (first_step + len(losses)),
        anchors=[anchor()], rows=[rows(first_step, losses)], **(definitions() if defined else {}),
    )


def end(seq, stream=STREAM):
    return pb.End(
        stream_id=stream, seq=seq, status=pb.End.STATUS_FINISHED, exit_code=0, ended=anchor(60), points_total=12,
        drops=[pb.DropCount(reason=pb.LOSS_REASON_QUEUE_FULL, points=3)],
    )


# ---- the files ----


def format_example():
    """The worked example of docs/format.md."""
    file = GoldenFile()
    file.add(
        "CONFIG",
        pb.Config(
            stream_id=STREAM, seq=1, spool_id=SPOOL_ID, project="demo", run_id="run-1", run_name="calm-otter",
            user="ada", world_size=1, host="node1", pid=4242,
            config=[pb.ConfigEntry(path="optimizer.lr", value=pb.Value(double_value=0.5))], opened=anchor(),
        ),
    )
    file.add(
        "LOG",
        pb.Log(
            stream_id=STREAM, seq=2, keyframe_seq=1, points_total=10,
            anchors=[anchor(), pb.TimeAnchor(monotonic_ns=MONOTONIC_NS + 2_000_000, wall_ns=WALL_NS + 10**9)],
            keys=[pb.KeyDefinition(key_id=0, key="loss"), pb.KeyDefinition(key_id=1, key="lr")],
            tables=[pb.TableDefinition(table_id=0, key_ids=[0, 1]), pb.TableDefinition(table_id=1, key_ids=[0])],
            rows=[
                pb.TableRows(
                    table_id=0, row_count=3, first_step=100, step_stride=10, first_time_monotonic_us=5_000_000,
                    time_deltas_us=[1500, 1500],
                    columns=[pb.Column(float_values=[0.5, 0.25, 0.125]), pb.Column(double_values=[0.1, 0.2, 0.3])],
                ),
                pb.TableRows(
                    table_id=1, row_count=4, first_step=7, step_deltas=[1, -3, 1000],
                    first_time_monotonic_us=5_000_400, time_deltas_us=[300, 0, 2000],
                    columns=[pb.Column(float_values=[1.0, float("nan"), float("inf"), -2.5])],
                ),
            ],
        ),
    )
    file.add(
        "SKIP",
        pb.Skip(stream_id=STREAM, seq=3, to_seq=200, reason=pb.LOSS_REASON_DISK_FULL, text="spool full"),
    )
    return file


def every_message():
    file = GoldenFile()
    position = pb.StreamPosition(stream_id=STREAM, last_seq=7, points_total=70, spool_id=SPOOL_ID, ended=True)
    credit = pb.Credit(token=TOKEN, credit_seq=100, credit_bytes=1 << 20)
    file.add(
        "FILE",
        pb.File(
            format_version=1, kind=pb.File.KIND_SPOOL, segment=1, run_id="run-1", created_wall_ns=WALL_NS,
            program="golden 1", spool_id=SPOOL_ID, stream_id=STREAM, first_seq=1, store_id=STORE_ID,
            streams=[position],
        ),
    )
    value = pb.Value
    file.add(
        "CONFIG",
        pb.Config(
            stream_id=STREAM, seq=1, spool_id=SPOOL_ID, project="demo", run_id="run-1", run_name="calm-otter",
            user="ada", rank=3, world_size=8, local_rank=1, host="node1", pid=4242, attempt=2, parent_attempt=1,
            resume_step=500,
            config=[
                pb.ConfigEntry(path="optimizer.lr", value=value(double_value=0.001)),
                pb.ConfigEntry(path="layers", value=value(int_value=-12)),
                pb.ConfigEntry(path="amp", value=value(bool_value=True)),
                pb.ConfigEntry(path="arch", value=value(text_value="résnet")),
                pb.ConfigEntry(path="betas", value=value(json_value="[0.9,0.999]")),
                pb.ConfigEntry(path="seed", value=value(null_value=True)),
            ],
            tags=[pb.Tag(key="arch", value="resnet50"), pb.Tag(key="nightly")], group="sweep-1", notes="first try",
            environment=[pb.Tag(key="cuda", value="12.4")],
            git=pb.GitState(commit="c0ffee", branch="main", dirty=True, remote="https://example.org/demo.git"),
            metric_definitions=[
                pb.MetricDefinition(
                    key="eval/*", x_axis="epoch", summary=pb.MetricDefinition.SUMMARY_BEST,
                    goal=pb.MetricDefinition.GOAL_MAXIMIZE, unit="%",
                )
            ],
            opened=anchor(), library="golden 1",
        ),
    )
    time_us = MONOTONIC_NS // 1000
    file.add(
        "LOG",
        pb.Log(
            stream_id=STREAM, seq=2, keyframe_seq=1, points_total=4, anchors=[anchor(), anchor(1)], **definitions(),
            rows=[
                rows(5, [0.5, 0.25]),
                pb.TableRows(
                    table_id=0, row_count=2, first_step=-3, step_deltas=[9], first_time_monotonic_us=time_us + 9000,
                    time_deltas_us=[-1], columns=[pb.Column(double_values=[0.1, 0.2]), pb.Column(int_values=[-1, 1])],
                ),
            ],
            text=[
                pb.TextLine(
                    time_monotonic_us=time_us, text="epoch 1 – läuft", source=pb.TextLine.SOURCE_STDERR,
                    level=pb.TextLine.LEVEL_WARNING, step=5, cut_bytes=17,
                )
            ],
            histograms=[
                pb.Histogram(
                    key_id=1, step=5, time_monotonic_us=time_us, edges=[-1.0, 0.0, 1.0], counts=[3, 4], nan_count=1,
                    positive_infinity_count=2, negative_infinity_count=3, count=7, sum=1.5, sum_of_squares=2.5,
                    min=-0.75, max=1.0,
                )
            ],
            blobs=[
                pb.BlobReference(
                    key_id=1, step=5, time_monotonic_us=time_us, media_type="application/x-sideband-tensor",
                    content_bytes=24, xxh3_128=xxhash.xxh3_128(bytes(24)).digest(), inline_content=bytes(24),
                    tensor=pb.TensorLayout(
                        dtype=pb.TensorLayout.DTYPE_FLOAT, bits=32, shape=[2, 3], strides=[3, 1]
                    ),
                    caption="weights", attributes=[pb.Tag(key="width", value="3")],
                )
            ],
            alerts=[
                pb.Alert(
                    time_monotonic_us=time_us, level=pb.TextLine.LEVEL_ERROR, title="loss is NaN", text="at step 5",
                    step=5, min_interval_s=60,
                )
            ],
            summary_updates=[pb.SummaryUpdate(key="best/acc", value=value(double_value=0.75))],
            config_updates=[pb.ConfigEntry(path="seed", value=value(int_value=7))],
            run_updates=[
                pb.RunUpdate(
                    run_name="brave-owl", group="sweep-2", notes="second try", set_tags=[pb.Tag(key="kept", value="yes")],
                    remove_tags=["nightly"],
                )
            ],
            system_readings=[pb.SystemReading(key_id=1, time_monotonic_us=time_us, value=97.5)],
            rewinds=[pb.Rewind(step=4, time_monotonic_us=time_us)],
            drops=[pb.DropCount(reason=pb.LOSS_REASON_QUEUE_FULL, points=11)],
            ring_marks=[pb.RingMark(ring=1, end=4096)],
            metric_definitions=[pb.MetricDefinition(key="train/loss", goal=pb.MetricDefinition.GOAL_MINIMIZE)],
        ),
    )
    file.add("SKIP", pb.Skip(stream_id=STREAM, seq=3, to_seq=6, reason=pb.LOSS_REASON_QUOTA, text="quota of 1 GiB"))
    file.add(
        "END",
        pb.End(
            stream_id=STREAM, seq=7, status=pb.End.STATUS_CRASHED, exit_signal=9, exit_code=-1, reason="killed",
            ended=anchor(60), points_total=70, drops=[pb.DropCount(reason=pb.LOSS_REASON_TOO_LARGE, points=1)],
        ),
    )
    file.add(
        "SYN",
        pb.Syn(
            min_version=1, max_version=2, features=["example"], stream_id=STREAM, spool_id=SPOOL_ID, open_count=3,
            open_nonce=0xA1A2A3A4A5A6A7A8, head_seq=7, oldest_seq=1, syn_nonce=0xB1B2B3B4B5B6B7B8, run_id="run-1",
            project="demo", user="ada", wall_ns=WALL_NS, monotonic_ns=MONOTONIC_NS, library="golden 1",
            last_store_id=STORE_ID, last_commit_seq=4, follows=True,
        ),
    )
    file.add(
        "ACK",
        pb.Ack(
            version=1, features=["example"], syn_nonce=0xB1B2B3B4B5B6B7B8, token=TOKEN, store_id=STORE_ID, resume_seq=5,
            data_endpoint="tcp://collector:5124", heartbeat_ms=30_000, max_payload_bytes=262_144, wall_ns=WALL_NS,
            program="sideband 0.1.0",
        ),
    )
    file.add(
        "PING",
        pb.Ping(
            token=TOKEN, ping_id=9, sent_wall_ns=WALL_NS, head_seq=7, sent_seq=6, clock_offset_ns=-1500,
            clock_delay_ns=200_000,
        ),
    )
    file.add(
        "PONG",
        pb.Pong(
            token=TOKEN, ping_id=9, ping_sent_wall_ns=WALL_NS, received_wall_ns=WALL_NS + 1, sent_wall_ns=WALL_NS + 2,
            expected_seq=7, durable_seq=6, credit=credit,
        ),
    )
    file.add("CREDIT", credit)
    file.add("COMMIT", pb.Commit(token=TOKEN, seq=7, store_id=STORE_ID, credit=credit))
    file.add("FIN", pb.Fin(token=TOKEN, final_seq=7))
    file.add("BYE", pb.Bye(token=TOKEN, reason=pb.Bye.REASON_FINISHED, retry_after_ms=1000))
    file.add(
        "ERROR",
        pb.ErrorReport(
            code=pb.ErrorReport.CODE_VERSION, text="expected version 1, found 2 to 3", fatal=True, retry_after_ms=500,
            token=TOKEN, syn_nonce=0xB1B2B3B4B5B6B7B8, store_id=STORE_ID,
        ),
    )
    content = b"content of a blob"
    content_hash = xxhash.xxh3_128(content).digest()
    file.add(
        "BLOB",
        pb.Blob(stream_id=STREAM, xxh3_128=content_hash, offset=11, content_bytes=len(content), piece=content[11:]),
    )
    file.add("BLOB_COMMIT", pb.BlobCommit(token=TOKEN, xxh3_128=content_hash, resume_offset=len(content)))
    file.add(
        "SUBSCRIBE",
        pb.Subscribe(
            subscription=1, series=[pb.SeriesSelector(run_id="run-1", key="train/*", rank=0)], max_updates_hz=5
        ),
    )
    file.add(
        "SERIES",
        pb.Series(
            subscription=1, run_id="run-1", key="train/loss", rank=3, stream_id=STREAM, steps=[5, 6],
            times_wall_us=[WALL_NS // 1000, WALL_NS // 1000 + 1000], values=[0.5, 0.25], requery=True,
        ),
    )
    file.seal([position], WALL_NS + 10**12)
    return file


def collector_log():
    """A sealed segment of a collector: two streams, interleaved in order of arrival."""
    file = GoldenFile()
    file.add(
        "FILE",
        pb.File(
            format_version=1, kind=pb.File.KIND_LOG, segment=1, run_id="run-1", created_wall_ns=WALL_NS,
            program="golden 1", store_id=STORE_ID,
        ),
    )
    file.add("CONFIG", config())
    file.add("CONFIG", config(OTHER_STREAM, 1, OTHER_SPOOL_ID, rank=1))
    file.add("LOG", log(2, 0, [1.0, 0.5], defined=True))
    file.add("LOG", log(2, 0, [1.5], stream=OTHER_STREAM, defined=True))
    file.add("LOG", log(3, 2, [0.25, 0.125, 0.1]))
    file.add(
        "SKIP",
        pb.Skip(stream_id=OTHER_STREAM, seq=3, to_seq=9, reason=pb.LOSS_REASON_CORRUPT, text="checksum in the spool"),
    )
    file.add("LOG", log(10, 4, [0.75, 0.5], stream=OTHER_STREAM))
    file.add("END", end(4))
    file.seal(
        [
            pb.StreamPosition(stream_id=STREAM, last_seq=4, points_total=12, spool_id=SPOOL_ID, ended=True),
            pb.StreamPosition(stream_id=OTHER_STREAM, last_seq=10, points_total=12, spool_id=OTHER_SPOOL_ID),
        ],
        WALL_NS + 10**12,
    )
    return file


def spool_segment():
    """The second segment of a spool, still open: CONFIG and every definition come again before any points."""
    file = GoldenFile()
    file.add(
        "FILE",
        pb.File(
            format_version=1, kind=pb.File.KIND_SPOOL, segment=2, run_id="run-1", created_wall_ns=WALL_NS,
            program="golden 1", spool_id=SPOOL_ID, stream_id=STREAM, first_seq=5,
        ),
    )
    file.add("CONFIG", config(seq=5))
    file.add(
        "LOG",
        pb.Log(stream_id=STREAM, seq=6, keyframe_seq=5, points_total=10, **definitions()),
    )
    file.add("LOG", log(7, 5, [0.5, 0.25], keyframe_seq=5))
    file.add("LOG", log(8, 7, [0.125], keyframe_seq=5))
    return file


def damaged():
    """A collector's segment after a bad day: a changed byte, noise, a length that lies, a torn tail."""
    file = GoldenFile()
    file.add(
        "FILE",
        pb.File(
            format_version=1, kind=pb.File.KIND_LOG, segment=3, run_id="run-1", created_wall_ns=WALL_NS,
            program="golden 1", store_id=STORE_ID,
        ),
    )
    file.add("CONFIG", config())

    changed = bytearray(frame(TYPES["LOG"], log(2, 0, [1.0, 0.5], defined=True).SerializeToString()))
    changed[-3] ^= 0x10
    found = struct.unpack_from("<I", changed, 9)[0]
    file.damage(
        bytes(changed),
        f"bad checksum: expected 0x{checksum(bytes(changed[:9]), bytes(changed[13:])):08X}, found 0x{found:08X}",
    )
    file.add("LOG", log(3, 2, [0.25]))
    file.damage(b"noise ZZZ and ZZZZ in it", "bad magic: expected 0x5A5A5A5A")

    text = "a line of ZZZZ\x00\x01\x00\x00\x01 that looks like a header"
    file.add("LOG", pb.Log(stream_id=STREAM, seq=4, keyframe_seq=1, text=[pb.TextLine(text=text)]))

    oversize = bytearray(frame(TYPES["LOG"], log(5, 3, [0.25]).SerializeToString()))
    struct.pack_into("<I", oversize, 4, 262_145)
    file.damage(bytes(oversize), "oversize length: expected at most 262144 payload bytes, found 262145")
    file.add("LOG", log(6, 4, [0.125]))

    torn = frame(TYPES["LOG"], log(7, 5, [0.5]).SerializeToString())
    file.damage(torn[:-5], "torn tail")
    return file


# zstd -19 --no-check of compressed_part().SerializeToString(); written down because two versions of zstd may differ.
ZSTD_BATCH = bytes.fromhex(
    "28b52ffd00688d0800a6d23c2c704f3a84f8da7ebd8e7108be485d3b7005bb90451862bf4cea38a74763902ed1d76424816a01d97bef2d3709"
    "3a002d002a00a2c86c95ceb561a275365994887561cade3a03443acf86f30909b69911165df7e924341b4e06030a6c321b2c3815c9b562bd7e"
    "ed804da9671a229ddfdfdb7be3f77dff317c041ff3e3f7e83de2c7fbf8837eb9e59373375c3b164f8588a248300ceb037a4419e4143ccda7df"
    "a9778a4fefe93fc34ff0337f7e9fde27febc9fbf0c2fc1cb7cf95d7a97f8f25efe1dbec1079087a3c1582838036813eaea365ba567828a0d6f"
    "c1db7cfbdd7ab7f8f6defe357c055ff3ebf7eabde2d7fbfad3f0010a2030030c0fb2908fccc8523e64c69464943faa33a7f4422e2903"
)


def compressed_part():
    table_rows = rows(0, [0.5] * 64)
    table_rows.table_id = 2
    return pb.Log(
        anchors=[anchor()], rows=[table_rows],
        keys=[pb.KeyDefinition(key_id=3, key="packed/loss"), pb.KeyDefinition(key_id=4, key="packed/tokens")],
        tables=[pb.TableDefinition(table_id=2, key_ids=[3, 4], kinds=[pb.VALUE_KIND_FLOAT, pb.VALUE_KIND_INT])],
        text=[pb.TextLine(time_monotonic_us=MONOTONIC_NS // 1000, text=f"step {i}") for i in range(8)],
    )


def edge_values():
    file = GoldenFile()
    file.add("CONFIG", config())

    # NaN payloads. Python's floats do not keep them, so these columns are written as bits.
    doubles = [0x7FF8000000000001, 0xFFF8000000000000, 0x7FF0000000000001, 0x7FF0000000000000, 0xFFF0000000000000]
    doubles += [0x8000000000000000, 0x0000000000000001, 0x7FEFFFFFFFFFFFFF]
    floats = [0x7FC00001, 0xFFC00000, 0x7F800001, 0x7F800000, 0xFF800000, 0x80000000, 0x00000001, 0x3DCCCCCD]
    columns = [
        field(1, struct.pack("<8I", *floats)),
        field(2, struct.pack("<8Q", *doubles)),
    ]
    table = pb.TableDefinition(table_id=0, key_ids=[0, 1])
    keys = [pb.KeyDefinition(key_id=0, key="floats"), pb.KeyDefinition(key_id=1, key="doubles")]
    head = pb.Log(stream_id=STREAM, seq=2, keyframe_seq=1, points_total=16, anchors=[anchor()], keys=keys, tables=[table])
    table_rows = pb.TableRows(row_count=8, step_stride=1, first_time_monotonic_us=5_000_000, time_deltas_us=[0] * 7)
    payload = head.SerializeToString()
    payload += field(8, table_rows.SerializeToString() + b"".join(field(8, column) for column in columns))
    file.add_payload(TYPES["LOG"], "LOG", payload, pb.Log.FromString(payload))

    file.add(
        "LOG",
        pb.Log(
            stream_id=STREAM, seq=3, keyframe_seq=1, points_total=20, anchors=[anchor()],
            keys=[pb.KeyDefinition(key_id=2, key="integers")],
            tables=[pb.TableDefinition(table_id=1, key_ids=[2], kinds=[pb.VALUE_KIND_INT])],
            rows=[
                pb.TableRows(  # steps wrap around: max, min, min, max
                    table_id=1, row_count=4, first_step=INT64_MAX, step_deltas=[1, 0, -1],
                    first_time_monotonic_us=INT64_MIN, time_deltas_us=[INT64_MAX, INT64_MAX, 1],
                    columns=[pb.Column(int_values=[INT64_MIN, -1, 0, INT64_MAX])],
                )
            ],
        ),
    )
    # A batch with nothing in it.
    file.add("LOG", pb.Log(stream_id=STREAM, seq=4, keyframe_seq=1, points_total=20))
    # A compressed batch.
    raw = compressed_part().SerializeToString()
    file.add(
        "LOG",
        pb.Log(
            stream_id=STREAM, seq=5, keyframe_seq=1, points_total=148, zstd_batch=ZSTD_BATCH, raw_bytes=len(raw)
        ),
    )
    # A field that this version does not know: 1000 = "later".
    payload = pb.Log(stream_id=STREAM, seq=6, keyframe_seq=1).SerializeToString() + field(1000, b"later")
    file.add_payload(TYPES["LOG"], "LOG", payload, pb.Log.FromString(payload))
    # A payload that cannot be decoded behind a good identity: field 3 is cut off.
    payload = pb.Log(stream_id=STREAM, seq=7).SerializeToString() + b"\x18\xff"
    file.add_payload(TYPES["LOG"], "LOG", payload, None, (STREAM, 7))
    # A sequenced type of a later version, a type to be ignored, a type that nobody may send, an empty payload.
    payload = pb.Log(stream_id=STREAM, seq=8).SerializeToString() + b"anything"
    file.add_payload(0x80, "0x80", payload, None, (STREAM, 8))
    file.add_payload(0xC0, "0xC0", b"anything", None)
    file.add_payload(0x7F, "0x7F", b"anything", None)
    file.add_payload(TYPES["PING"], "PING", b"", pb.Ping())
    # The last seq that there is.
    file.add("SKIP", pb.Skip(stream_id=2**64 - 1, seq=2**64 - 1, to_seq=2**64 - 1))
    return file


def main():
    makers = (format_example, every_message, collector_log, spool_segment, damaged, edge_values)
    wanted = {}
    for maker in makers:
        file = maker()
        wanted[HERE / f"{maker.__name__}.frames"] = file.data
        wanted[HERE / f"{maker.__name__}.json"] = file.text().encode()
    if sys.argv[1:] == ["--check"]:
        changed = [path for path, data in wanted.items() if not path.exists() or path.read_bytes() != data]
        for path in changed:
            print(f"differs from what generate.py makes: {path}", file=sys.stderr)
        return 1 if changed else 0
    for path, data in wanted.items():
        path.write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
