"""The contract as Python classes: proto/sideband.proto through protoc, made anew in each process.

Nothing generated is committed, so this folder can never speak of another .proto than the one beside it.
`pb` is the module of messages, `MESSAGE_OF_TYPE` the message that each msg_type carries.
"""

import importlib
import pathlib
import subprocess
import sys
import tempfile

PROTO = pathlib.Path(__file__).resolve().parents[2] / "proto" / "sideband.proto"


def _generate():
    with tempfile.TemporaryDirectory(prefix="sideband-contract-") as folder:
        subprocess.run(["protoc", f"-I{PROTO.parent}", f"--python_out={folder}", str(PROTO)], check=True)
        sys.path.insert(0, folder)
        try:
            return importlib.import_module("sideband_pb2")
        finally:
            sys.path.remove(folder)


pb = _generate()

# Types of the protocol: docs/format.md.
LOG, CONFIG, SKIP, END = 0x01, 0x02, 0x03, 0x04
SYN, ACK, PING, PONG, CREDIT, COMMIT, FIN, BYE, ERROR = range(0x10, 0x19)
BLOB, BLOB_COMMIT = 0x20, 0x21
FILE, SEAL = 0x30, 0x31
SUBSCRIBE, SERIES = 0x40, 0x41

MESSAGE_OF_TYPE = {
    LOG: pb.Log, CONFIG: pb.Config, SKIP: pb.Skip, END: pb.End,
    SYN: pb.Syn, ACK: pb.Ack, PING: pb.Ping, PONG: pb.Pong, CREDIT: pb.Credit, COMMIT: pb.Commit, FIN: pb.Fin,
    BYE: pb.Bye, ERROR: pb.ErrorReport,
    BLOB: pb.Blob, BLOB_COMMIT: pb.BlobCommit,
    FILE: pb.File, SEAL: pb.Seal,
    SUBSCRIBE: pb.Subscribe, SERIES: pb.Series,
}  # fmt: skip

NAME_OF_TYPE = {
    LOG: "LOG", CONFIG: "CONFIG", SKIP: "SKIP", END: "END", SYN: "SYN", ACK: "ACK", PING: "PING", PONG: "PONG",
    CREDIT: "CREDIT", COMMIT: "COMMIT", FIN: "FIN", BYE: "BYE", ERROR: "ERROR", BLOB: "BLOB",
    BLOB_COMMIT: "BLOB_COMMIT", FILE: "FILE", SEAL: "SEAL", SUBSCRIBE: "SUBSCRIBE", SERIES: "SERIES",
}  # fmt: skip


def is_sequenced(msg_type: int) -> bool:
    """True for the types whose message begins with stream_id and seq, those of later versions included."""
    return LOG <= msg_type <= END or 0x80 <= msg_type <= 0xBF
