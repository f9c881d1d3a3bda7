"""The schema that the binary prints is the contract: enough to decode frames without the .proto at hand."""

import subprocess
import unittest

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from contract import LOG, PROTO, pb
from sideband_frames import scan
from support import GOLDEN, binary, run_tests


def schema(flag: str) -> bytes:
    return subprocess.run([binary("sideband"), "schema", flag], capture_output=True, check=True, timeout=60).stdout


class Schema(unittest.TestCase):
    def test_proto_prints_the_file_itself(self):
        self.assertEqual(schema("--proto").decode(), PROTO.read_text())

    def test_a_frame_decodes_with_nothing_but_the_descriptor(self):
        pool = descriptor_pool.DescriptorPool()
        for file in descriptor_pb2.FileDescriptorSet.FromString(schema("--descriptor")).file:
            pool.Add(file)
        log_class = message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName("sideband.v1.Log"))
        frames = [item.frame for item in scan((GOLDEN / "format_example.frames").read_bytes())]
        payload = next(frame.payload for frame in frames if frame.msg_type == LOG)
        self.assertEqual(str(log_class.FromString(payload)), str(pb.Log.FromString(payload)))


if __name__ == "__main__":
    run_tests()
