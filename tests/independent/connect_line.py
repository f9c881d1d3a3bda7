"""The line that a collector prints, as docs/protocol.md, "Security", says it: an address, and keys."""

import urllib.parse

import zmq
from zmq.utils import z85

Keys = dict[str, bytes]


def split(line: str) -> tuple[str, Keys]:
    """The address, and the keys "server_key" and "key": none for a collector without."""
    address, _, parameters = line.partition("?")
    keys = {name: bytes.fromhex(digits) for name, digits in urllib.parse.parse_qsl(parameters, strict_parsing=True)} if parameters else {}
    if keys and (sorted(keys) != ["key", "server_key"] or any(len(key) != 32 for key in keys.values())):
        raise ValueError(f"expected server_key and key of 64 hex digits each, found {sorted(keys)}: {address}")
    return address, keys


def connect(socket: zmq.Socket, address: str, keys: Keys) -> None:
    if keys:
        secret = z85.encode(keys["key"])
        socket.curve_secretkey, socket.curve_publickey = secret, zmq.curve_public(secret)
        socket.curve_serverkey = z85.encode(keys["server_key"])
    socket.connect(address)
