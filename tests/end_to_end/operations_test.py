"""docs/operations.md and deploy/: the commands do what the text says, and the files are what their programs accept."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "independent"))

from collector import Collector  # noqa: E402
from frame_store import FrameStore  # noqa: E402
from reader import Folder, read_paths  # noqa: E402
from sender import Uplink, random64  # noqa: E402
from sender_session import SenderSession  # noqa: E402
from stream_writer import Identity, StreamWriter  # noqa: E402
from support import PointsCase, RealCollector, binary, by_key, run_cpp_sender, run_tests, sample_values  # noqa: E402

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = REPOSITORY / "deploy"
DEADLINE_S = 120
RUNNABLE = re.compile(r"^```sh runnable (\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
POINTS, KEYS, SEED = 400, 4, 3


def commands(name: str) -> str:
    """The runnable block of this name."""
    (found,) = [text for block, text in RUNNABLE.findall((REPOSITORY / "docs/operations.md").read_text()) if block == name]
    return found


def stored_bytes(data: pathlib.Path) -> int:
    return sum(file.stat().st_size for file in data.glob("runs/*/*.log"))


def run_bash(script: str, **variables: str | pathlib.Path) -> subprocess.CompletedProcess:
    """With `sideband` in the PATH and nothing else of the environment."""
    environment = {name: value for name, value in os.environ.items() if name == "PATH" or name.endswith("SAN_OPTIONS")}
    environment["PATH"] = f"{pathlib.Path(binary('sideband')).parent}:{environment['PATH']}"
    environment |= {name: str(value) for name, value in variables.items()}
    environment["PATH"] = f"{environment.pop('FIRST_IN_PATH', '')}:{environment['PATH']}"
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], env=environment, capture_output=True, text=True, check=False,
        timeout=DEADLINE_S,
    )  # fmt: skip


class OperationsCase(PointsCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_block(self, name: str, **variables: str | pathlib.Path) -> str:
        """Runs a block of the document; what it printed."""
        ran = run_bash(commands(name), **variables)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ran.stdout

    def start_sender(self, control: str, points: int, deadline_ms: int = 60_000) -> subprocess.Popen:
        sender = run_cpp_sender(
            control, self.folder / "spool", "operations", "operations-run", points, KEYS, SEED, deadline_ms
        )
        self.addCleanup(sender.communicate)
        self.addCleanup(sender.kill)
        return sender

    def leave_spool(self) -> None:
        """A finished stream that nobody took."""
        with Collector() as collector:
            nobody = collector.connect
        self.start_sender(nobody, POINTS, deadline_ms=100).wait(DEADLINE_S)

    def assert_sample(self, folder: Folder) -> None:
        found = {key: points for key, points in by_key(folder.reader.points).items() if key.startswith("sample/")}
        for key, values in sample_values(SEED, POINTS, KEYS).items():
            self.assert_values(key, [(p.step, p.value) for p in found[key]], [(step, value) for step, _, value in values])


class SteadySender(threading.Thread):
    """A stream that goes on, one frame a turn, until the end of the `with` block."""

    def __init__(self, control: str):
        super().__init__(name="steady sender")
        self.control, self.stopping = control, threading.Event()

    def run(self) -> None:
        store = FrameStore()
        writer = StreamWriter(Identity(7, bytes(16), "operations", "operations-run"), store, KEYS, SEED)
        writer.begin_segment()
        session = SenderSession(store, 1, time.time_ns, random64)
        with Uplink(self.control, session) as uplink:
            while not self.stopping.is_set():
                writer.log_rows(50)
                uplink.turn()
            uplink.run_until(lambda: session.committed_seq == store.head_seq, DEADLINE_S)

    def __enter__(self) -> "SteadySender":
        self.start()
        return self

    def __exit__(self, *_) -> None:
        self.stopping.set()
        self.join()


class Backup(OperationsCase):
    """A copy of the data folder of a collector that is at work, made once for all cases."""

    @classmethod
    def setUpClass(cls):
        root = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.data, cls.backup = root / "data", root / "backup"
        with RealCollector(cls.data) as collector, SteadySender(collector.connect):
            cls.wait_for_more_than(10_000)
            cls.copied = run_bash(commands("backup"), DATA=cls.data, BACKUP=cls.backup)
            cls.wait_for_more_than(stored_bytes(cls.backup))
        cls.whole, cls.part = read_paths(cls.data), read_paths(cls.backup)

    @classmethod
    def wait_for_more_than(cls, wanted: int) -> None:
        end = time.monotonic() + DEADLINE_S
        while stored_bytes(cls.data) <= wanted:
            if time.monotonic() > end:
                raise AssertionError(f"expected more than {wanted} stored bytes, found {stored_bytes(cls.data)}")
            time.sleep(0.01)

    def setUp(self):
        super().setUp()
        self.copy = pathlib.Path(shutil.copytree(self.backup, self.folder / "copy"))

    def test_the_commands_find_the_copy_whole(self):
        self.assertEqual(self.copied.returncode, 0, self.copied.stdout + self.copied.stderr)

    def test_it_holds_what_was_stored_until_then_without_a_hole(self):
        self.assertEqual(self.part.damage, [])
        frames = list(self.part.reader.frames.items())
        self.assertEqual(frames, list(self.whole.reader.frames.items())[: len(frames)])

    def test_the_tools_read_it(self):
        (run,) = json.loads(self.run_block("look", DATA=self.copy))
        self.assertEqual((run["id"], run["points"]), ("operations-run", len(self.part.reader.points)))

    def test_another_collector_goes_on_in_it(self):
        with RealCollector(self.copy) as second:
            self.run_block("catch_up", DATA=self.data, SIDEBAND_COLLECTOR=second.connect)
        self.assertEqual(read_paths(self.copy).reader.frames, self.whole.reader.frames)

    def test_with_a_new_store_id_it_is_another_store(self):
        self.run_block("new_store", BACKUP=self.copy)
        with RealCollector(self.copy):
            self.assertNotEqual((self.copy / "store_id").read_text(), (self.data / "store_id").read_text())


class Delivery(OperationsCase):
    def test_what_a_killed_trainer_left_is_delivered(self):
        self.leave_spool()
        with RealCollector(self.folder / "data") as collector:
            self.run_block("deliver", SIDEBAND_SPOOL_DIR=self.folder / "spool", SIDEBAND_COLLECTOR=collector.connect)
        self.assert_sample(read_paths(self.folder / "data"))


class Slurm(OperationsCase):
    """deploy/slurm with an srun that starts one task on this machine."""

    def setUp(self):
        super().setUp()
        srun = self.folder / "bin" / "srun"
        srun.parent.mkdir()
        srun.write_text('#!/bin/bash\nwhile [[ $1 == --* ]]; do shift; done\nexec "$@"\n')
        srun.chmod(0o755)

    def submit(self, script: str, trainer: str = "", **variables: str | pathlib.Path) -> subprocess.CompletedProcess:
        return run_bash(
            f"bash {DEPLOY / 'slurm' / script} {trainer or self.trainer()}", FIRST_IN_PATH=self.folder / "bin",
            HOME=self.folder, SLURM_JOB_ID="77", **variables,
        )  # fmt: skip

    @staticmethod
    def trainer(deadline_ms: int = 60_000) -> str:
        return f"{binary('cpp_sender')} slurm {POINTS} {KEYS} {SEED} {deadline_ms}"

    def test_a_collector_in_the_job_stores_everything(self):
        ran = self.submit("collector_in_job.sbatch", SIDEBAND_ADDRESS="127.0.0.1", SIDEBAND_SPOOL_DIR=self.folder / "spool")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assert_sample(read_paths(self.folder / "sideband-data" / "77"))

    def test_a_trainer_that_fails_fails_the_job(self):
        ran = self.submit(
            "collector_in_job.sbatch", "bash -c 'exit 7'", SIDEBAND_ADDRESS="127.0.0.1", SIDEBAND_SPOOL_DIR=self.folder / "spool"
        )
        self.assertEqual(ran.returncode, 7, ran.stderr)

    def test_a_collector_that_does_not_start_fails_the_job(self):
        ran = self.submit("collector_in_job.sbatch", SIDEBAND_ADDRESS="127.0.0.1", SIDEBAND_DATA="/proc/none")
        self.assertIn("the collector did not start: /proc/none", ran.stderr)

    def test_a_central_collector_stores_everything(self):
        with RealCollector(self.folder / "data") as collector:
            ran = self.submit(
                "central_collector.sbatch", SIDEBAND_COLLECTOR=collector.connect, SIDEBAND_SPOOL_DIR=self.folder / "spool"
            )
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assert_sample(read_paths(self.folder / "data"))

    def test_a_job_without_a_collector_is_delivered_later(self):
        self.submit("offline.sbatch", self.trainer(deadline_ms=100))
        with RealCollector(self.folder / "data") as collector:
            spools = self.folder / "sideband-spool" / "77"
            self.run_block("deliver", SIDEBAND_SPOOL_DIR=spools, SIDEBAND_COLLECTOR=collector.connect)
        self.assert_sample(read_paths(self.folder / "data"))


class Files(OperationsCase):
    def test_systemd_accepts_the_unit(self):
        unit = self.folder / "sideband.service"
        text = (DEPLOY / "systemd" / "sideband.service").read_text()
        unit.write_text(text.replace("/usr/local/bin/sideband", binary("sideband")))
        told = run_bash(f"systemd-analyze verify {unit} 2>&1")
        self.assertEqual((told.returncode, told.stdout), (0, ""))

    def test_every_flag_of_the_unit_exists(self):
        self.assert_flags_exist((DEPLOY / "systemd" / "sideband.service").read_text())

    def test_every_flag_of_the_deployment_exists(self):
        self.assert_flags_exist("\n".join(self.container()["args"]))

    def assert_flags_exist(self, text: str) -> None:
        known = set(re.findall(r"--[a-z-]+", run_bash("sideband collect --help").stdout))
        used = set(re.findall(r"(?<!\S)--[a-z-]+", text))
        self.assertTrue(used)
        self.assertLessEqual(used, known)

    def test_the_service_leads_to_the_collector(self):
        service = self.document("collector.yaml", "Service")
        template = self.document("collector.yaml", "Deployment")["spec"]["template"]
        self.assertEqual(service["spec"]["selector"], template["metadata"]["labels"])
        ports = {port["name"]: port["containerPort"] for port in self.container()["ports"]}
        self.assertEqual({port["targetPort"]: port["port"] for port in service["spec"]["ports"]}, ports)

    def test_the_collector_announces_the_service(self):
        name = self.document("collector.yaml", "Service")["metadata"]["name"]
        announced = [arg.split("=")[1] for arg in self.container()["args"] if arg.startswith("--advertise-")]
        self.assertEqual(announced, [f"tcp://{name}:{port}" for port in (5123, 5124, 5126)])

    def test_the_trainer_reads_the_secret_that_the_document_makes(self):
        job = self.document("trainer-job.yaml", "Job")["spec"]["template"]["spec"]["containers"][0]
        (secret,) = [e["valueFrom"]["secretKeyRef"] for e in job["env"] if e["name"] == "SIDEBAND_COLLECTOR"]
        made = f"kubectl create secret generic {secret['name']} --from-literal={secret['key']}="
        self.assertIn(made, (REPOSITORY / "docs/operations.md").read_text())

    def document(self, file: str, kind: str) -> dict:
        documents = yaml.safe_load_all((DEPLOY / "kubernetes" / file).read_text())
        (found,) = [document for document in documents if document["kind"] == kind]
        return found

    def container(self) -> dict:
        return self.document("collector.yaml", "Deployment")["spec"]["template"]["spec"]["containers"][0]


if __name__ == "__main__":
    run_tests()
