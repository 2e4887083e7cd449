"""Read upstream's `cloudEvents:` and `externalEvents:` as plans of sinks. Pure.

Source: flyteadmin/pkg/runtime/interfaces/application_configuration.go of v1.16.8, and the guide "Cloud
Events". What upstream ignores without a word or ends its process for is a warning here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from controlplane.access.flyte_auth.sections import Findings, Section
from overrides.flyte.cloud_events_file.locations import documents_of, find_section
from overrides.flyte.cloud_events_file.plans import CLOUD_EVENTS, EXTERNAL_EVENTS, FilePlan, SinkPlan

_EVENT_TYPES = {name: f"flyte.{name}_event" for name in ("workflow", "node", "task")}
_EVERY_TYPE = ("flyte.*",)
_CLOUD, _EXTERNAL = ("cloudEvents", "cloud_events"), ("externalEvents", "external_events")


class _Target(NamedTuple):
    """Where a section sends."""

    kind: str
    config: Mapping[str, Any]
    credentials: Mapping[str, str] = {}
    credential_files: Mapping[str, str] = {}


def read(text: str, file: str) -> FilePlan:
    """Return the sinks of a file. file: its name, for messages. Raises InvalidConfiguration."""
    findings = Findings(file)
    documents = documents_of(text, file)
    cloud = find_section(documents, _CLOUD, findings)
    external = find_section(documents, _EXTERNAL, findings)
    if cloud is None and external is None:
        findings.warn(1, "there is neither a `cloudEvents:` nor an `externalEvents:` section.")
    plans = (
        _cloud_plan(Section(cloud, "cloudEvents", findings)) if cloud else None,
        _external_plan(Section(external, "externalEvents", findings)) if external else None,
    )
    findings.raise_mistakes()
    return FilePlan(tuple(plan for plan in plans if plan), findings.all_warnings())


def _cloud_plan(section: Section) -> SinkPlan | None:
    version = section.choice("cloudEventVersion", ("v1", "v2"))
    return _plan(section, CLOUD_EVENTS, f"flyte-{version}", _CLOUD_TARGETS)


def _external_plan(section: Section) -> SinkPlan | None:
    targets = {name: _CLOUD_TARGETS[name] for name in ("aws", "gcp")}
    return _plan(section, EXTERNAL_EVENTS, "flyte-external", targets)


def _plan(
    section: Section, name: str, flavour: str, targets: Mapping[str, Callable[[Section, str], _Target]]
) -> SinkPlan | None:
    section.ignore("reconnectAttempts", "reconnectDelaySeconds")
    if not section.flag("enable", default=False):
        return None
    publisher = section.section("eventsPublisher")
    types = _types(publisher, is_filtered=flavour != "flyte-v2")
    topic = publisher.text("topicName")
    enrich = "events of success alone are complemented."
    publisher.ignore("enrichAllWorkflowEventTypes", because=enrich)
    publisher.warn_of_unknown_keys()
    kind = section.text("type").lower()
    if kind not in targets:
        section.findings.warn(
            section.line, f"`{section.path}.type` {kind!r} sends nothing. Choose of {', '.join(targets)}."
        )
        return None
    target = targets[kind](section, topic)
    section.ignore(*_CLOUD_TARGETS)
    section.warn_of_unknown_keys()
    if not types:
        return None
    return SinkPlan(
        name, target.kind, flavour, types, target.config, target.credentials, target.credential_files
    )


def _types(publisher: Section, *, is_filtered: bool) -> tuple[str, ...]:
    names = publisher.texts("eventTypes")
    if not is_filtered:
        if not {"all", "*"} & set(names):
            text = (
                "`eventTypes` has no effect with `cloudEventVersion: v2`, as upstream: all events are sent."
            )
            publisher.findings.warn(publisher.line, text)
        return _EVERY_TYPE
    for name in names:
        if name not in (*_EVENT_TYPES, "all", "*"):
            publisher.findings.warn(publisher.line, f"the event type {name!r} is unknown and has no effect.")
    if {"all", "*"} & set(names):
        return _EVERY_TYPE
    types = tuple(_EVENT_TYPES[name] for name in dict.fromkeys(names) if name in _EVENT_TYPES)
    if not types:
        publisher.findings.warn(publisher.line, f"`{publisher.path}` names no event types: nothing is sent.")
    return types


def _sns(section: Section, topic: str) -> _Target:
    aws = section.section("aws")
    region = aws.text("region")
    config = {"topic_arn": topic, **({"region": region} if region else {})}
    aws.warn_of_unknown_keys()
    return _Target("sns", config)


def _pubsub(section: Section, topic: str) -> _Target:
    gcp = section.section("gcp")
    gcp.ignore("region", because="Pub/Sub has no region. Name the project in `gcp.projectId`.")
    project = gcp.text("projectId")
    gcp.warn_of_unknown_keys()
    parts = topic.split("/")
    if len(parts) == 4 and parts[0] == "projects":
        project, topic = parts[1], parts[3]
    if not project:
        section.findings.warn(
            gcp.line or section.line, "`gcp.projectId` is missing: the sink needs a project."
        )
    return _Target("pubsub", {"project": project, "topic": topic})


def _kafka(section: Section, topic: str) -> _Target:
    kafka = section.section("kafka")
    node = kafka.node("brokers")
    if node is not None and isinstance(node.value, str):
        section.findings.warn(node.line, "`kafka.brokers` is a text and is read as a list.")
    brokers = [
        broker.strip() for text in kafka.texts("brokers") for broker in text.split(",") if broker.strip()
    ]
    kafka.ignore("version", because="the client finds it out.")
    sasl, tls = kafka.section("saslConfig"), kafka.section("tlsConfig")
    is_sasl, is_tls = sasl.flag("enabled", default=False), tls.flag("enabled", default=False)
    tls.ignore("certPath", "keyPath", because="certificates of clients are not supported.")
    security: dict[str, Any] = {}
    if is_sasl or is_tls:
        security["security_protocol"] = ("SASL_" if is_sasl else "") + ("SSL" if is_tls else "PLAINTEXT")
    if is_sasl:
        security |= {"sasl_mechanism": sasl.text("mechanism", "PLAIN"), "user": sasl.text("user")}
        sasl.ignore("handshake")
    if tls.flag("insecureSkipVerify", default=False):
        tls.ignore("insecureSkipVerify", because="certificates of servers are always verified.")
    kafka.warn_of_unknown_keys()
    config = {"topic": topic, "brokers": brokers, **security}
    return _Target("kafka", config, *(_sasl_credentials(sasl) if is_sasl else ()))


def _sasl_credentials(sasl: Section) -> tuple[dict[str, str], dict[str, str]]:
    """Return credentials, and those that are in files."""
    password, path = sasl.secret("password"), sasl.text("passwordPath")
    return {"password": password} if password and not path else {}, {"password": path} if path else {}


def _nats(section: Section, topic: str) -> _Target:
    nats = section.section("nats")
    user, token = nats.section("userAuthentication"), nats.section("tokenAuthentication")
    config: dict[str, Any] = {"subject": topic, "servers": list(nats.texts("servers"))}
    credentials: dict[str, str] = {}
    if user.flag("enabled", default=False):
        config["user"], credentials["password"] = user.text("user"), user.secret("password")
    if token.flag("enabled", default=False):
        credentials["token"] = token.secret("token")
    nats.warn_of_unknown_keys()
    return _Target("nats", config, credentials)


_CLOUD_TARGETS: dict[str, Callable[[Section, str], _Target]] = {
    "aws": _sns,
    "gcp": _pubsub,
    "kafka": _kafka,
    "nats": _nats,
}
