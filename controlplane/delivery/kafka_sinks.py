"""Kafka as a kind of sink: CloudEvents in binary mode, delivered once all replicas have them.

A message can come twice after a relay was killed; consumers drop the second by `ce_id`. The client connects
to all brokers that the named ones name, so that only the platform may have such sinks.
"""

from __future__ import annotations

import re
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from controlplane.delivery.cloudevents import attributes
from controlplane.delivery.flavours import Transport, WireMessage
from controlplane.delivery.kafka_producer import KafkaProducer, Silent
from controlplane.delivery.kinds import Message, Sent, SinkKind, SinkSecrets, invalid_setting, register_kind
from controlplane.delivery.schedule import Answer, Result
from controlplane.errors import InvalidRequest, RemoteFailed
from controlplane.outgoing import allowed_networks, check_target

_SETTINGS = frozenset(
    {"topic", "brokers", "security_protocol", "sasl_mechanism", "user", "ca", "create_topic"}
)
_CREDENTIALS = frozenset({"password"})
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_PORT = 9092
_TOPIC = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")
_BROKER = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?P<port>:[0-9]{1,5})?")
# Others wait so long for the thread that looks up addresses.
_OPENING_SECONDS = 5.0
# Within a relay's lease, with time to settle.
DELIVERY_SECONDS = 50.0
# For the creation of a topic, and as long again for a thread that waits for another one's.
CREATION_SECONDS = 5.0


class KafkaSender:
    """One producer, which many threads use. The first of them opens it, so that no other sink waits for it.

    config, credentials: of the sink.
    """

    def __init__(self, config: Mapping[str, Any], credentials: Mapping[str, str]) -> None:
        self._config, self._credentials = config, credentials
        self._topic, self._creates_topic = config["topic"], bool(config.get("create_topic"))
        self._options: dict[str, Any] = {}
        self._creating, self._opening = threading.Lock(), threading.Lock()
        self._producer: KafkaProducer | None = None
        self._is_closed = False

    def send(self, message: Message) -> Sent:
        content = content_of(message)
        began = time.monotonic()
        answer = self._answer(content, began + DELIVERY_SECONDS + 5)
        milliseconds = round(1000 * (time.monotonic() - began))
        return Sent(replace(answer, milliseconds=milliseconds), dict(content.headers))

    def close(self) -> None:
        # Without the lock: the thread that opens may wait for a name server.
        self._is_closed = True
        self._forget(self._producer)

    def _answer(self, content: WireMessage, until: float) -> Answer:
        from confluent_kafka import KafkaException

        try:
            producer = self._opened()
        except RemoteFailed as error:
            return Answer(Result.OUTAGE, error=str(error))
        except InvalidRequest as error:
            return Answer(Result.ADDRESS_REFUSED, error=str(error))
        except KafkaException as error:
            return Answer(Result.CLIENT_ERROR, error=f"Kafka's client refuses a setting: {_text(error)}.")
        missing = self._create_topic() if self._creates_topic else ""
        if missing:
            return Answer(Result.OUTAGE, error=missing)
        return self._produce(producer, content, max(0.0, until - time.monotonic()))

    def _opened(self) -> KafkaProducer:
        """Return the producer. Raises RemoteFailed, InvalidRequest, KafkaException."""
        if not self._opening.acquire(timeout=_OPENING_SECONDS):
            raise RemoteFailed("The addresses of Kafka are still looked up.")
        try:
            if self._producer is None and not self._is_closed:
                self._options = options_of(self._config, self._credentials)
                limit = {"delivery.timeout.ms": int(DELIVERY_SECONDS * 1000)}
                self._producer = KafkaProducer({**self._options, **_RELIABLE, **limit})
            producer = self._producer
        finally:
            self._opening.release()
        if producer is None or self._is_closed:
            self._forget(producer)
            raise RemoteFailed("The sink has changed, or the relay stops.")
        return producer

    def _produce(self, producer: KafkaProducer, content: WireMessage, seconds: float) -> Answer:
        from confluent_kafka import KafkaException

        try:
            error = producer.store(self._topic, content, seconds)
        except BufferError as full:
            return Answer(Result.OUTAGE, error=f"The Kafka client cannot take the event: {full}.")
        except KafkaException as refusal:
            error = refusal.args[0]
        except TimeoutError:
            return Answer(Result.OUTAGE, error="Kafka did not confirm the event in time.")
        if error is not None and _is_fatal(error):
            self._forget(producer)
        answer = _answer_of(error, self._topic, producer.trouble)
        if answer.result is Result.TOPIC_MISSING and self._config.get("create_topic"):
            self._creates_topic = True
            return replace(answer, result=Result.OUTAGE)
        return answer

    def _forget(self, producer: KafkaProducer | None) -> None:
        """Close a producer; the next event opens another one, at addresses that are checked again."""
        if producer is not None:
            producer.close()
        if self._producer is producer:
            self._producer = None

    def _create_topic(self) -> str:
        """Create the topic with the broker's defaults, unless it exists; return an error, or "".

        Before the first event: a producer that has missed a topic goes on to miss it for a while.
        """
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

        if not self._creating.acquire(timeout=CREATION_SECONDS):
            return f"The topic {self._topic} is not created yet."
        try:
            if not self._creates_topic:
                return ""
            # Kept until the end: a client that is collected ends its calls.
            client = AdminClient(self._options, logger=Silent())
            client.create_topics([NewTopic(self._topic)])[self._topic].result(CREATION_SECONDS)
        except TimeoutError:
            return f"The topic {self._topic} cannot be created: Kafka does not answer."
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                return f"The topic {self._topic} cannot be created: {error.args[0].str()}."
        finally:
            self._creating.release()
        self._creates_topic = False
        return ""


# Until all replicas have an event, it is not delivered; what is sent again is stored once.
_RELIABLE: dict[str, Any] = {
    "acks": "all",
    "enable.idempotence": True,
    "max.in.flight.requests.per.connection": 5,
    "compression.type": "zstd",
    "linger.ms": 5,
    # A topic that is missing is noticed after this long.
    "topic.metadata.propagation.max.ms": 2000,
    "allow.auto.create.topics": False,
}


def content_of(message: Message) -> WireMessage:
    """Return an event in binary mode (CloudEvents' Kafka binding 1.0.2, 3.2): `ce_` and UTF-8."""
    foreign = message.foreign(Transport.KAFKA)
    if foreign is not None:
        return foreign
    named = attributes(message.event, message.origin, key=message.key)
    headers = {"content-type": named.pop("datacontenttype")}
    headers |= {f"ce_{name}": text for name, text in named.items()}
    headers |= {"cp_replay": "true"} if message.is_replay else {}
    headers |= message.trace_headers
    return WireMessage(msgspec.json.encode(message.event.whole_data), headers, message.key)


def _is_fatal(error: Any) -> bool:
    """True if the client stores nothing any more, such as after a producer id that Kafka does not accept."""
    from confluent_kafka import KafkaError

    return bool(error.fatal()) or error.code() == KafkaError._FATAL


def _text(error: Any) -> str:
    return str(error.args[0].str())


def _answer_of(error: Any, topic: str, trouble: str) -> Answer:
    """trouble: what the client knows of its connections, or empty."""
    from confluent_kafka import KafkaError

    if error is None:
        return Answer(Result.DELIVERED)
    if error.code() in (KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART):
        return Answer(Result.TOPIC_MISSING, error=f"Kafka has no topic {topic}.")
    refused = (
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    )
    if error.code() in refused:
        return Answer(Result.CLIENT_ERROR, error=f"Kafka refused the event: {error.str()}.")
    reason = f"{error.str()} ({trouble})" if trouble else error.str()
    return Answer(Result.OUTAGE, error=f"Kafka cannot be reached or cannot store the event: {reason}.")


def _check(config: Mapping[str, Any], credentials: Mapping[str, str]) -> None:
    for name in config.keys() - _SETTINGS:
        raise invalid_setting(f"/config/{name}", f"A sink of kind kafka has no setting {name}.")
    for name in credentials.keys() - _CREDENTIALS:
        message = f"A sink of kind kafka has no credential {name}; it has password."
        raise invalid_setting(f"/credentials/{name}", message)
    for name in ("topic", "brokers"):
        if not config.get(name):
            raise invalid_setting(f"/config/{name}", f"A sink of kind kafka needs {name}.")
    if bool(config.get("user")) != bool(credentials.get("password")):
        raise invalid_setting("/config/user", "Give both `user` and the credential `password`, or neither.")
    if not _TOPIC.fullmatch(config["topic"]):
        message = "A topic has letters, digits, `.`, `_` and `-`, at most 249."
        raise invalid_setting("/config/topic", message)
    _check_installed()
    _check_authority(config.get("ca", ""))
    _check_brokers(config["brokers"])


def _check_authority(ca: str) -> None:
    if not ca:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=ca)
    except (ssl.SSLError, ValueError) as error:
        message = "`ca` has no certificate as PEM. It begins with -----BEGIN CERTIFICATE-----."
        raise invalid_setting("/config/ca", message) from error


def _check_installed() -> None:
    try:
        import confluent_kafka  # noqa: F401
    except ImportError as error:
        message = "This installation cannot send to Kafka. Install controlplane[kafka] where the relay runs."
        raise invalid_setting("/kind", message) from error


def _check_brokers(brokers: Sequence[str]) -> None:
    """Raise InvalidRequest for addresses that are not allowed or unknown."""
    for number, broker in enumerate(brokers):
        try:
            _address(broker)
        except (InvalidRequest, RemoteFailed) as error:
            raise invalid_setting(f"/config/brokers/{number}", str(error)) from error


def _address(broker: str) -> str:
    """Return host and port of one broker. Raises InvalidRequest if not allowed, RemoteFailed if unknown.

    librdkafka reads a text as it likes, such as a comma as the start of another broker: only what was checked
    may reach it.
    """
    parts = _BROKER.fullmatch(broker)
    if parts is None:
        raise InvalidRequest("A broker is written host:9092.")
    address = parts["host"] + (parts["port"] or f":{_PORT}")
    check_target(f"https://{address}", allowed_networks())
    return address


def options_of(config: Mapping[str, Any], credentials: Mapping[str, str]) -> dict[str, Any]:
    """Return the client's options for a sink's settings. Raises InvalidRequest, RemoteFailed."""
    user = config.get("user", "")
    protocol = config.get("security_protocol") or ("SASL_SSL" if user else "PLAINTEXT")
    options: dict[str, Any] = {
        "bootstrap.servers": ",".join(map(_address, config["brokers"])),
        "security.protocol": protocol,
        "client.id": "controlplane",
    }
    if user:
        options |= {
            "sasl.mechanism": config.get("sasl_mechanism", "SCRAM-SHA-512"),
            "sasl.username": user,
            "sasl.password": credentials.get("password", ""),
        }
    return options | ({"ssl.ca.pem": config["ca"]} if config.get("ca") else {})


def _open(config: Mapping[str, Any], secrets: SinkSecrets) -> KafkaSender:
    _check_installed()
    return KafkaSender(config, secrets.credentials)


KAFKA = register_kind(SinkKind("kafka", _check, _open, is_of_platform=lambda config: True))
