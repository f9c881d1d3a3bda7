"""Prints each new value that a collector stores: read_tap.py "$SIDEBAND_TAP", the line that it prints."""
import struct, sys, xxhash, zmq, zmq.utils.z85
from urllib.parse import parse_qsl
import sideband_pb2 as pb  # protoc -I proto --python_out=build sideband.proto

names, tables = {}, {}
socket = zmq.Context().socket(zmq.SUB)
address, _, parameters = sys.argv[1].partition("?")
keys = {name: zmq.utils.z85.encode(bytes.fromhex(digits)) for name, digits in parse_qsl(parameters)}
if keys:  # none with --insecure
    socket.curve_serverkey, socket.curve_secretkey = keys["server_key"], keys["key"]
    socket.curve_publickey = zmq.curve_public(keys["key"])
socket.connect(address)
socket.subscribe(b"")  # or a prefix of project/run/
while True:
    topic, frame = socket.recv_multipart()
    magic, length, kind, checksum = struct.unpack_from("<4sIBI", frame)
    payload, seed = frame[13:], xxhash.xxh32(frame[:9]).intdigest()
    if magic != b"ZZZZ" or length != len(payload) or checksum != xxhash.xxh32(payload, seed).intdigest():
        sys.exit("damaged frame")
    if kind != 0x01:  # LOG: the frames that hold values
        continue
    log = pb.Log.FromString(payload)
    names.update({(log.stream_id, key.key_id): key.key for key in log.keys})
    tables.update({(log.stream_id, table.table_id): table.key_ids for table in log.tables})
    for rows in log.rows:
        for key_id, column in zip(tables[log.stream_id, rows.table_id], rows.columns):
            for i, value in enumerate(column.float_values or column.double_values or column.int_values):
                step = rows.first_step + (sum(rows.step_deltas[:i]) if rows.step_deltas else i * rows.step_stride)
                print(topic.decode(), names[log.stream_id, key_id], step, value, flush=True)
