"""A real Kafka broker for nightly tests: Apache Kafka in KRaft mode, by Java, from Maven's repository."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

from controlplane.local.programs import free_port
from tests.support.waiting import until

_POM = """
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>tests</groupId><artifactId>kafka</artifactId><version>1</version><dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId>
<version>4.1.0</version></dependency>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId>
<version>4.1.0</version></dependency>
<dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId>
<version>1.7.36</version></dependency></dependencies></project>
"""
_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners={protocol}://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,{protocol}:{protocol}
inter.broker.listener.name={protocol}
controller.listener.names=CONTROLLER
log.dirs={folder}/logs
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
auto.create.topics.enable=false
"""
_PASSWORDS = """
sasl.enabled.mechanisms=PLAIN
sasl.mechanism.inter.broker.protocol=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config=\\
 org.apache.kafka.common.security.plain.PlainLoginModule required \\
 username="broker" password="inner" user_broker="inner" user_cp="{password}";
"""


def kafka_jars(folder: Path) -> Path:
    """Return the folder with Kafka's programs; they are fetched once (54 MB)."""
    jars = Path(os.environ.get("KAFKA_JARS") or folder / "libs")
    if not (jars / "kafka_2.13-4.1.0.jar").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pom.xml").write_text(_POM)
        command = ["mvn", "-q", "dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
        subprocess.run(command, cwd=folder, check=True)
    return jars


class Broker:
    """One broker. password: of the user `cp`; empty: anybody may connect."""

    def __init__(self, folder: Path, jars: Path, *, password: str = "") -> None:
        self._folder, self._jars = folder, jars
        self.port, controller = free_port(), free_port()
        protocol = "SASL_PLAINTEXT" if password else "PLAINTEXT"
        values = {"port": self.port, "controller": controller, "protocol": protocol, "folder": folder}
        passwords = _PASSWORDS.format(password=password) if password else ""
        folder.mkdir(parents=True)
        (folder / "server.properties").write_text(_PROPERTIES.format(**values) + passwords)
        self._java("kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c").wait(60)
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        self.process = self._java("kafka.Kafka")
        until(self._listens, 120, lambda: (self._folder / "kafka.log").read_text()[-3000:])

    def kill(self) -> None:
        """End it as a lost machine would."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _java(self, program: str, *words: str) -> subprocess.Popen[bytes]:
        log = (self._folder / "kafka.log").open("ab")
        command = ["java", "-Xmx384m", "-cp", f"{self._jars}/*", program, *words]
        return subprocess.Popen(
            [*command, str(self._folder / "server.properties")], stdout=log, stderr=subprocess.STDOUT
        )

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True
