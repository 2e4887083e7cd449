"""Published documents and their claims to agent IDs and task types. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from registry.agent_configs.documents.content import Content, digest_of
from registry.agent_configs.documents.dialects import Dialect

_MAX_NAME_LENGTH = 200


@dataclass(frozen=True, slots=True, order=True)
class DocumentId:
    """A document's source and its name there; they do not depend on its content."""

    source: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.source}/{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class TaskTypeFacts:
    """Facts about a task type, reported by probes, data planes or its owner."""

    version: int = 0
    is_sync: bool = False


@dataclass(frozen=True, slots=True)
class Canary:
    """The one project and domain that a document's agents serve; only connector-v2 supports it."""

    project: str
    domain: str

    def __str__(self) -> str:
        return f"{self.project}/{self.domain}"


@dataclass(frozen=True, slots=True)
class PublishedDocument:
    """A document with the content that may be served.

    content: of `generation`, the last valid one; None if there is none or the document is quarantined.
    team: the owner of the source, never taken from the document. created_at: at the source.
    """

    id: DocumentId
    team: str
    generation: int
    content: Content | None
    created_at: datetime
    facts: Mapping[str, TaskTypeFacts] = field(default_factory=dict)
    canary: Canary | None = None
    organisation: str = ""

    def get_facts(self, task_type: str) -> TaskTypeFacts:
        return self.facts.get(task_type, TaskTypeFacts())


class ClaimKind(StrEnum):
    AGENT = "agent"
    TASK_TYPE = "task_type"
    DEFAULT = "default"
    ENDPOINT = "endpoint"


@dataclass(frozen=True, slots=True, order=True)
class ClaimKey:
    """A name that only one claim can have. version, pin: only in dialects that distinguish them."""

    kind: ClaimKind
    name: str
    version: int = 0
    pin: str = ""

    def __str__(self) -> str:
        version = f" version {self.version}" if self.version else ""
        return f"{self.kind.value.replace('_', ' ')} {self.name}{version}{self.pin and f' for {self.pin}'}"


@dataclass(frozen=True, slots=True)
class Claim:
    """One document's claim. agent: the rendered ID, or empty for any agent of the team that serves it.

    local_id: the agent's ID in its document.
    digest: claims to one key with equal digests are identical, so they do not conflict.
    """

    key: ClaimKey
    document: DocumentId
    team: str
    organisation: str = ""
    agent: str = ""
    digest: str = ""
    local_id: str = ""

    @property
    def order(self) -> tuple[DocumentId, ClaimKey]:
        return (self.document, self.key)


@dataclass(frozen=True, slots=True)
class Naming:
    """How claims are named for a data plane: its dialect, and whether agent IDs include the team."""

    dialect: Dialect = Dialect.AGENT
    namespaced_ids: bool = False

    def agent_id(self, team: str, agent: str) -> str:
        return f"{team.lower()}--{agent}" if self.namespaced_ids and agent else agent

    def task_key(self, document: PublishedDocument, task_type: str) -> ClaimKey:
        if self.dialect is not Dialect.CONNECTOR_V2:
            return ClaimKey(ClaimKind.TASK_TYPE, task_type)
        pin = str(document.canary) if document.canary else ""
        return ClaimKey(ClaimKind.TASK_TYPE, task_type, document.get_facts(task_type).version, pin)


def agent_claims(document: PublishedDocument, naming: Naming) -> Iterator[Claim]:
    for name, deployment in _content(document).agents.items():
        agent = naming.agent_id(document.team, name)
        key = ClaimKey(ClaimKind.AGENT, agent)
        digest = digest_of([deployment.members, str(document.canary or "")])
        yield Claim(key, document.id, document.team, document.organisation, agent, digest, name)


def endpoint_name(endpoint: str) -> str:
    """Return a claim's name for an endpoint: in lower case, or a digest if it is too long."""
    name = endpoint.lower()
    return name if len(name) <= _MAX_NAME_LENGTH else digest_of(name)


def endpoint_claims(document: PublishedDocument, naming: Naming) -> Iterator[Claim]:
    """Yield one claim per agent. Claims with equal digests can share the one connection that Flyte keeps."""
    for name, deployment in _content(document).agents.items():
        key = ClaimKey(ClaimKind.ENDPOINT, endpoint_name(deployment.endpoint))
        digest = digest_of([deployment.insecure, deployment.service_config])
        yield Claim(
            key,
            document.id,
            document.team,
            document.organisation,
            naming.agent_id(document.team, name),
            digest,
            name,
        )


def task_claims(document: PublishedDocument, naming: Naming) -> Iterator[Claim]:
    for name, agent in _content(document).routes.items():
        agent_id = naming.agent_id(document.team, agent)
        yield Claim(
            naming.task_key(document, name),
            document.id,
            document.team,
            document.organisation,
            agent_id,
            agent_id,
        )


def default_claims(document: PublishedDocument) -> Iterator[Claim]:
    for name in sorted(_content(document).defaults):
        yield Claim(ClaimKey(ClaimKind.DEFAULT, name), document.id, document.team, document.organisation)


def _content(document: PublishedDocument) -> Content:
    return document.content or Content()
