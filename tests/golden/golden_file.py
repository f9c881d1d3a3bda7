"""A golden file in the making: its bytes, and beside them the lines of its dump. Used by generate.py only."""

import importlib
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import xxhash
from google.protobuf import json_format

PROTO_FOLDER = pathlib.Path(__file__).resolve().parent.parent.parent / "proto"

# fmt: off
TYPES = {
    "LOG": 0x01, "CONFIG": 0x02, "SKIP": 0x03, "END": 0x04,
    "SYN": 0x10, "ACK": 0x11, "PING": 0x12, "PONG": 0x13, "CREDIT": 0x14, "COMMIT": 0x15, "FIN": 0x16, "BYE": 0x17,
    "ERROR": 0x18, "BLOB": 0x20, "BLOB_COMMIT": 0x21, "FILE": 0x30, "SEAL": 0x31, "SUBSCRIBE": 0x40, "SERIES": 0x41,
}
# fmt: on


def load_proto():
    """The generated Python module of proto/sideband.proto."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["protoc", f"--proto_path={PROTO_FOLDER}", f"--python_out={folder}", "sideband.proto"], check=True
        )
        sys.path.insert(0, folder)
        return importlib.import_module("sideband_pb2")


pb = load_proto()


def checksum(header_start, payload):
    seed = xxhash.xxh32(header_start, seed=0).intdigest()
    return xxhash.xxh32(payload, seed=seed).intdigest()


def frame(type_number, payload):
    header_start = b"ZZZZ" + struct.pack("<IB", len(payload), type_number)
    return header_start + struct.pack("<I", checksum(header_start, payload)) + payload


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, content):
    """A length-delimited field."""
    return varint(number << 3 | 2) + varint(len(content)) + content


class GoldenFile:
    """Bytes of a file and the lines of its dump, made side by side."""

    def __init__(self):
        self.data = b""
        self.lines = []
        self.frame_count = 0

    def add(self, name, message):
        self.add_payload(TYPES[name], name, message.SerializeToString(deterministic=True), message)

    def add_payload(self, type_number, name, payload, message, identity=None):
        line = {"offset": len(self.data), "type": name, "length": len(payload), "checksum_ok": True}
        if identity is None and name in ("LOG", "CONFIG", "SKIP", "END"):
            identity = (message.stream_id, message.seq)
        if identity is not None:
            line["stream_id"] = f"{identity[0]:016x}"
            line["seq"] = identity[1]
        line["message"] = None
        if message is not None:
            line["message"] = json_format.MessageToDict(message, preserving_proto_field_name=True)
        self.data += frame(type_number, payload)
        self.lines.append(line)
        self.frame_count += 1

    def damage(self, data, reason):
        self.lines.append({"offset": len(self.data), "damage_bytes": len(data), "reason": reason})
        self.data += data

    def seal(self, streams, sealed_wall_ns):
        """Adds SEAL, which names its own size: the field that does is of a fixed size, so that it can."""
        seal = pb.Seal(
            streams=streams, file_bytes=len(self.data), frame_count=self.frame_count, sealed_wall_ns=sealed_wall_ns
        )
        seal.seal_bytes = 1
        seal.seal_bytes = 13 + len(seal.SerializeToString())
        self.add("SEAL", seal)

    def text(self):
        return "".join(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n" for line in self.lines)
