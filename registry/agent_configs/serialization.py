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
        "agents": {name: deployment.members for name, deployment in content.agents.items()},
        "routes": dict(content.routes),
        "defaults": sorted(content.defaults),
    }


def read_content(data: dict[str, Any]) -> Content:
    agents = {name: _deployment(deployment) for name, deployment in data["agents"].items()}
    return Content(agents, data["routes"], frozenset(data["defaults"]))


def write_canary(canary: Canary | None) -> dict[str, str] | None:
    return {"project": canary.project, "domain": canary.domain} if canary else None


def read_canary(data: dict[str, str] | None) -> Canary | None:
    return Canary(**data) if data else None


def read_facts(data: dict[str, Any]) -> dict[str, Facts]:
    return {name: Facts(**facts) for name, facts in data.items()}


def write_diagnostic(diagnostic: Diagnostic) -> dict[str, Any]:
    return {**asdict(diagnostic), "doc_url": diagnostic.doc_url}


def read_diagnostic(data: dict[str, Any]) -> Diagnostic:
    members = {name: value for name, value in data.items() if name != "doc_url"}
    return Diagnostic(**{**members, "code": Code(data["code"]), "severity": Severity(data["severity"])})


def write_bundle(bundle: Bundle) -> dict[str, Any]:
    target = asdict(bundle.target)
    return {
        "target": {**target, "release": list(bundle.target.release)},
        "agents": {name: _write_agent(agent) for name, agent in bundle.agents.items()},
        "routes": [_write_route(route) for route in bundle.routes],
        "defaults": list(bundle.defaults),
        "inputs": [_write_input(bundle_input) for bundle_input in bundle.inputs],
        "dropped": [write_verdict(verdict) for verdict in bundle.dropped],
    }


def read_bundle(data: dict[str, Any]) -> Bundle:
    """The bundle as it was, but for what was dropped: that is only told."""
    return Bundle(
        _target(data["target"]),
        {name: _agent(agent) for name, agent in data["agents"].items()},
        tuple(
            Route(**{**route, "document": read_document_id(route["document"])}) for route in data["routes"]
        ),
        tuple(data["defaults"]),
        tuple(
            Input(**{**bundle_input, "document": read_document_id(bundle_input["document"])})
            for bundle_input in data["inputs"]
        ),
    )


def write_document(document: DocumentId) -> list[str]:
    return [document.source, document.namespace, document.name]


def read_document_id(parts: list[str]) -> DocumentId:
    return DocumentId(*parts)


def write_verdict(verdict: Verdict) -> dict[str, Any]:
    """What is told of a claim, in words for its author. `winner` is for its own organisation alone."""
    key, winner = verdict.claim.key, verdict.winner
    return {
        "document": write_document(verdict.claim.document),
        "team": verdict.claim.team,
        "kind": key.kind.value,
        "name": key.name,
        "version": key.version,
        "pin": key.pin,
        "reason": verdict.reason.value,
        "because": verdict.because.value if verdict.because else "",
        "message": for_reader(verdict, verdict.claim.organisation).message,
        "needs_review": verdict.needs_review,
        "winner": {
            "document": write_document(winner.document),
            "team": winner.team,
            "organisation": winner.organisation,
            # For readers of the winner's team; `message` above is for the loser's organisation.
            "message": verdict.message,
        }
        if winner
        else None,
    }


def write_observation(observation: Observation) -> dict[str, Any]:
    return {
        "subject": observation.subject.value,
        "message": observation.message,
        "is_warning": observation.is_warning,
    }


def write_condition(condition: Condition) -> dict[str, Any]:
    at = condition.last_transition_at
    return {
        "type": condition.type.value,
        "status": condition.status.value,
        "reason": str(condition.reason),
        "message": condition.message,
        "observed_generation": condition.observed_generation,
        "last_transition_at": at.isoformat() if at else None,
    }


def read_condition(data: dict[str, Any], data_plane: str) -> Condition:
    type_, at = Type(data["type"]), data["last_transition_at"]
    return Condition(
        type_,
        Status(data["status"]),
        data["reason"],
        data["message"],
        data["observed_generation"],
        data_plane if type_ is Type.APPLIED else "",
        datetime.fromisoformat(at) if at else None,
    )


def _write_agent(agent: Agent) -> dict[str, Any]:
    canary = write_canary(agent.canary)
    return {"id": agent.id, "deployment": agent.deployment.members, "team": agent.team, "canary": canary}


def _write_route(route: Route) -> dict[str, Any]:
    return {
        "task_type": route.task_type,
        "agent": route.agent,
        "team": route.team,
        "document": write_document(route.document),
        "version": route.version,
        "pin": route.pin,
        "mapped": route.mapped,
    }


def _write_input(bundle_input: Input) -> dict[str, Any]:
    document = write_document(bundle_input.document)
    return {"document": document, "generation": bundle_input.generation, "digest": bundle_input.digest}


def _deployment(data: dict[str, Any]) -> Deployment:
    timeouts = {Operation(name): value for name, value in data["timeouts"].items()}
    return Deployment(**{**data, "timeouts": timeouts})


def _agent(data: dict[str, Any]) -> Agent:
    return Agent(data["id"], _deployment(data["deployment"]), data["team"], read_canary(data["canary"]))


def _target(data: dict[str, Any]) -> Target:
    lists = {name: tuple(data[name]) for name in ("release", "enabled_plugins", "placeholders")}
    return Target(**{**data, **lists, "dialect": Dialect(data["dialect"])})
