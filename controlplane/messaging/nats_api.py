"""Requests and answers of JetStream's API as plain data. Pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from controlplane.messaging.nats_types import (
    ConsumerFacts,
    ConsumerSpec,
    StoredMessage,
    StreamFacts,
    StreamSpec,
)

NO_SUCH_STREAM, NO_SUCH_CONSUMER, NO_SUCH_MESSAGE = 10059, 10014, 10037
# The last one also means that a message cannot be deleted, which JetStream does not tell apart.
NOT_THERE = (NO_SUCH_STREAM, NO_SUCH_CONSUMER, NO_SUCH_MESSAGE, 10043, 10057)
_NANO = 1_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def stream_config(spec: StreamSpec) -> dict[str, Any]:
    config: dict[str, Any] = {
        "name": spec.name,
        "subjects": list(spec.subjects),
        "retention": spec.retention,
        "storage": "file",
        "discard": spec.discard,
        "max_age": int(spec.max_age_seconds * _NANO),
        "max_msgs": spec.max_messages,
        "max_msgs_per_subject": spec.max_messages_per_subject,
        "max_bytes": spec.max_bytes,
        "duplicate_window": int(spec.duplicate_window_seconds * _NANO),
        "num_replicas": spec.replicas,
    }
    if spec.discard == "new" and spec.max_messages_per_subject > 0:
        config["discard_new_per_subject"] = True
    return config


def unchangeable_difference(spec: StreamSpec, config: Mapping[str, Any]) -> str:
    """Say how the stream differs in what must not be changed while others use it, or ""."""
    differences = []
    if config.get("retention") != spec.retention:
        differences.append(f"retention is {config.get('retention')}, not {spec.retention}")
    present = sorted(config.get("subjects") or [])
    if present != sorted(spec.subjects):
        differences.append(f"subjects are {', '.join(present)}, not {', '.join(sorted(spec.subjects))}")
    return "; ".join(differences)


def changed_config(spec: StreamSpec, config: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the configuration with the limits of the spec, or None if it has them already."""
    wanted = {**config, **stream_config(spec), **_kept(spec, config)}
    return None if wanted == dict(config) else wanted


def _kept(spec: StreamSpec, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what stays of a stream. The storage cannot be changed, and makes no difference to us."""
    # Copies that an operator has added are not removed, which nobody would notice until a server dies.
    replicas = max(spec.replicas, config.get("num_replicas", 1))
    return {"storage": config.get("storage", "file"), "num_replicas": replicas}


def stream_facts(answer: Mapping[str, Any], difference: str) -> StreamFacts:
    state = answer["state"]
    return StreamFacts(
        answer["config"]["name"],
        read_time(answer["created"]),
        difference,
        state["messages"],
        state["bytes"],
        state["first_seq"],
        state["last_seq"],
        missing_replicas(answer),
    )


def missing_replicas(answer: Mapping[str, Any]) -> int:
    """Return how many copies of a stream are off, or behind. A server that is alone tells of none."""
    copies = answer["config"].get("num_replicas", 1)
    cluster = answer.get("cluster") or {}
    followers = [
        one for one in cluster.get("replicas") or () if one.get("current") and not one.get("offline")
    ]
    there = len(followers) + bool(cluster.get("leader"))
    return max(copies - there, 0) if copies > 1 else 0


def consumer_request(spec: ConsumerSpec) -> bytes:
    config: dict[str, Any] = {
        "name": spec.name,
        "durable_name": spec.name,
        "deliver_policy": "all",
        "ack_policy": "explicit",
        "ack_wait": int(spec.ack_wait_seconds * _NANO),
        "max_deliver": spec.max_deliveries,
        "max_ack_pending": spec.max_ack_pending,
        "replay_policy": "instant",
    }
    if len(spec.subjects) == 1:
        config["filter_subject"] = spec.subjects[0]
    elif spec.subjects:
        config["filter_subjects"] = list(spec.subjects)
    return json.dumps({"stream_name": spec.stream, "config": config}).encode()


def consumer_facts(answer: Mapping[str, Any]) -> ConsumerFacts:
    config = answer["config"]
    single = config.get("filter_subject")
    active = (answer.get("delivered") or {}).get("last_active")
    return ConsumerFacts(
        answer["name"],
        (single,) if single else tuple(config.get("filter_subjects") or ()),
        answer.get("num_pending", 0),
        answer.get("num_ack_pending", 0),
        answer.get("num_redelivered", 0),
        read_time(answer["created"]),
        read_time(active) if active else None,
        answer.get("num_waiting", 0),
    )


def stored_message(answer: Mapping[str, Any]) -> StoredMessage:
    message = answer["message"]
    return StoredMessage(
        message["subject"],
        base64.b64decode(message.get("data") or ""),
        _headers(base64.b64decode(message.get("hdrs") or "")),
        message["seq"],
        read_time(message["time"]),
    )


def _headers(block: bytes) -> dict[str, str]:
    lines = block.decode(errors="replace").split("\r\n")[1:]
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    return {name.strip(): value.strip() for name, value in pairs}


def pull_request(limit: int, seconds: float) -> bytes:
    """Return the request for messages; 0 seconds: only for those that are there."""
    if seconds > 0:
        return json.dumps({"batch": limit, "expires": int(seconds * _NANO)}).encode()
    return json.dumps({"batch": limit, "no_wait": True}).encode()


def delivery(reply: str) -> tuple[str, str, int, int, datetime]:
    """Return stream, consumer, deliveries, sequence and storage time from the subject for verdicts."""
    tokens = reply.split(".")
    # Newer forms have a domain and an account before the name of the stream.
    start = 2 if len(tokens) < 11 else 4
    stream, consumer, deliveries, sequence, _, nanoseconds = tokens[start : start + 6]
    stored_at = _EPOCH + timedelta(microseconds=int(nanoseconds) // 1000)
    return stream, consumer, int(deliveries), int(sequence), stored_at


def read_time(text: str) -> datetime:
    """Read a time of RFC 3339, whose fraction may have nine digits, to the microsecond."""
    whole, point, rest = text.replace("Z", "+00:00").partition(".")
    if not point:
        return datetime.fromisoformat(whole)
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    return datetime.fromisoformat(f"{whole}.{digits[:6].ljust(6, '0')}{rest[len(digits) :]}")
