"""Contents, bundles, verdicts and conditions as JSON in the database, and back. Pure."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from registry.agent_configs.bundles.bundle import Agent, Bundle, Input, Route
from registry.agent_configs.bundles.conditions import Condition, Status, Type
from registry.agent_configs.bundles.targets import Target
from registry.agent_configs.claims.observations import Observation
from registry.agent_configs.claims.verdicts import Verdict, for_reader
from registry.agent_configs.documents.content import Content, Deployment, Operation
from registry.agent_configs.documents.diagnostics import Code, Diagnostic, Severity
from registry.agent_configs.documents.dialects import Dialect
from registry.agent_configs.documents.published import Canary, DocumentId, Facts


def write_content(content: Content) -> dict[str, Any]:
    return {
        "agents": {name: one.members for name, one in content.agents.items()},
        "routes": dict(content.routes),
        "defaults": sorted(content.defaults),
    }


def read_content(said: dict[str, Any]) -> Content:
    agents = {name: _deployment(one) for name, one in said["agents"].items()}
    return Content(agents, said["routes"], frozenset(said["defaults"]))


def write_canary(canary: Canary | None) -> dict[str, str] | None:
    return {"project": canary.project, "domain": canary.domain} if canary else None


def read_canary(said: dict[str, str] | None) -> Canary | None:
    return Canary(**said) if said else None


def read_facts(said: dict[str, Any]) -> dict[str, Facts]:
    return {name: Facts(**one) for name, one in said.items()}


def write_diagnostic(one: Diagnostic) -> dict[str, Any]:
    return {**asdict(one), "doc_url": one.doc_url}


def read_diagnostic(said: dict[str, Any]) -> Diagnostic:
    members = {name: value for name, value in said.items() if name != "doc_url"}
    return Diagnostic(**{**members, "code": Code(said["code"]), "severity": Severity(said["severity"])})


def write_bundle(bundle: Bundle) -> dict[str, Any]:
    target = asdict(bundle.target)
    return {
        "target": {**target, "release": list(bundle.target.release)},
        "agents": {name: _write_agent(one) for name, one in bundle.agents.items()},
        "routes": [_write_route(one) for one in bundle.routes],
        "defaults": list(bundle.defaults),
        "inputs": [_write_input(one) for one in bundle.inputs],
        "dropped": [write_verdict(one) for one in bundle.dropped],
    }


def read_bundle(said: dict[str, Any]) -> Bundle:
    """The bundle as it was, but for what was dropped: that is only told."""
    return Bundle(
        _target(said["target"]),
        {name: _agent(one) for name, one in said["agents"].items()},
        tuple(Route(**{**one, "document": read_document_id(one["document"])}) for one in said["routes"]),
        tuple(said["defaults"]),
        tuple(Input(**{**one, "document": read_document_id(one["document"])}) for one in said["inputs"]),
    )


def write_document(document: DocumentId) -> list[str]:
    return [document.source, document.namespace, document.name]


def read_document_id(said: list[str]) -> DocumentId:
    return DocumentId(*said)


def write_verdict(one: Verdict) -> dict[str, Any]:
    """What is told of a claim, in words for its author. `winner` is for its own organisation alone."""
    key, winner = one.claim.key, one.winner
    return {
        "document": write_document(one.claim.document),
        "team": one.claim.team,
        "kind": key.kind.value,
        "name": key.name,
        "version": key.version,
        "pin": key.pin,
        "reason": one.reason.value,
        "because": one.because.value if one.because else "",
        "message": for_reader(one, one.claim.organisation).message,
        "needs_review": one.needs_review,
        "winner": {
            "document": write_document(winner.document),
            "team": winner.team,
            "organisation": winner.organisation,
            # For readers of the winner's team; `message` above is for the loser's organisation.
            "message": one.message,
        }
        if winner
        else None,
    }


def write_observation(one: Observation) -> dict[str, Any]:
    return {"subject": one.subject.value, "message": one.message, "is_warning": one.is_warning}


def write_condition(one: Condition) -> dict[str, Any]:
    at = one.last_transition_at
    return {
        "type": one.type.value,
        "status": one.status.value,
        "reason": str(one.reason),
        "message": one.message,
        "observed_generation": one.observed_generation,
        "last_transition_at": at.isoformat() if at else None,
    }


def read_condition(said: dict[str, Any], data_plane: str) -> Condition:
    type_, at = Type(said["type"]), said["last_transition_at"]
    return Condition(
        type_,
        Status(said["status"]),
        said["reason"],
        said["message"],
        said["observed_generation"],
        data_plane if type_ is Type.APPLIED else "",
        datetime.fromisoformat(at) if at else None,
    )


def _write_agent(one: Agent) -> dict[str, Any]:
    canary = write_canary(one.canary)
    return {"id": one.id, "deployment": one.deployment.members, "team": one.team, "canary": canary}


def _write_route(one: Route) -> dict[str, Any]:
    return {
        "task_type": one.task_type,
        "agent": one.agent,
        "team": one.team,
        "document": write_document(one.document),
        "version": one.version,
        "pin": one.pin,
        "mapped": one.mapped,
    }


def _write_input(one: Input) -> dict[str, Any]:
    document = write_document(one.document)
    return {"document": document, "generation": one.generation, "digest": one.digest}


def _deployment(said: dict[str, Any]) -> Deployment:
    timeouts = {Operation(name): value for name, value in said["timeouts"].items()}
    return Deployment(**{**said, "timeouts": timeouts})


def _agent(said: dict[str, Any]) -> Agent:
    return Agent(said["id"], _deployment(said["deployment"]), said["team"], read_canary(said["canary"]))


def _target(said: dict[str, Any]) -> Target:
    lists = {name: tuple(said[name]) for name in ("release", "enabled_plugins", "placeholders")}
    return Target(**{**said, **lists, "dialect": Dialect(said["dialect"])})
