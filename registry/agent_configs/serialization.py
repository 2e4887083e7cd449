"""Convert contents, bundles, verdicts and conditions to the database's JSON and back. Pure.

What a later release has added is not read: its rows are read by this one too while both run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any

from registry.agent_configs.bundles.bundle import Agent, Bundle, BundleInput, Route
from registry.agent_configs.bundles.conditions import Condition, Status, Type
from registry.agent_configs.bundles.targets import Target
from registry.agent_configs.claims.observations import Observation
from registry.agent_configs.claims.verdicts import Verdict, redact_verdict
from registry.agent_configs.documents.content import Content, Deployment, Operation
from registry.agent_configs.documents.diagnostics import Code, Diagnostic, Severity
from registry.agent_configs.documents.dialects import Dialect
from registry.agent_configs.documents.published import Canary, DocumentId, TaskTypeFacts


def content_to_json(content: Content) -> dict[str, Any]:
    return {
        "agents": {name: deployment.members for name, deployment in content.agents.items()},
        "routes": dict(content.routes),
        "defaults": sorted(content.defaults),
    }


def content_from_json(data: dict[str, Any]) -> Content:
    agents = {name: _deployment_from_json(deployment) for name, deployment in data["agents"].items()}
    return Content(agents, data["routes"], frozenset(data["defaults"]))


def canary_to_json(canary: Canary | None) -> dict[str, str] | None:
    return {"project": canary.project, "domain": canary.domain} if canary else None


def canary_from_json(data: dict[str, str] | None) -> Canary | None:
    return Canary(**_known(Canary, data)) if data else None


def facts_from_json(data: dict[str, Any]) -> dict[str, TaskTypeFacts]:
    return {name: TaskTypeFacts(**_known(TaskTypeFacts, facts)) for name, facts in data.items()}


def diagnostic_to_json(diagnostic: Diagnostic) -> dict[str, Any]:
    return {**asdict(diagnostic), "doc_url": diagnostic.doc_url}


def diagnostics_from_json(rows: Iterable[dict[str, Any]]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics whose codes this release knows."""
    return tuple(_diagnostic_from_json(row) for row in rows if row["code"] in _CODES)


def bundle_to_json(bundle: Bundle) -> dict[str, Any]:
    target = asdict(bundle.target)
    return {
        "target": {**target, "release": list(bundle.target.release)},
        "agents": {name: _agent_to_json(agent) for name, agent in bundle.agents.items()},
        "routes": [_route_to_json(route) for route in bundle.routes],
        "defaults": list(bundle.defaults),
        "inputs": [_input_to_json(bundle_input) for bundle_input in bundle.inputs],
        "dropped": [verdict_to_json(verdict) for verdict in bundle.dropped],
    }


def bundle_from_json(data: dict[str, Any]) -> Bundle:
    """Return the bundle without its dropped claims, which are stored only for display."""
    return Bundle(
        _target_from_json(data["target"]),
        {name: _agent_from_json(agent) for name, agent in data["agents"].items()},
        tuple(
            Route(**{**_known(Route, route), "document": document_id_from_json(route["document"])})
            for route in data["routes"]
        ),
        tuple(data["defaults"]),
        tuple(
            BundleInput(**{**_known(BundleInput, row), "document": document_id_from_json(row["document"])})
            for row in data["inputs"]
        ),
    )


def document_id_to_json(document: DocumentId) -> list[str]:
    return [document.source, document.namespace, document.name]


def document_id_from_json(parts: list[str]) -> DocumentId:
    return DocumentId(*parts)


def verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    """Return the verdict with a message for the claim's author. `winner` is only for its own organisation."""
    key, winner = verdict.claim.key, verdict.winner
    return {
        "document": document_id_to_json(verdict.claim.document),
        "team": verdict.claim.team,
        "kind": key.kind.value,
        "name": key.name,
        "version": key.version,
        "pin": key.pin,
        "reason": verdict.reason.value,
        "because": verdict.rule.value if verdict.rule else "",
        "message": redact_verdict(verdict, verdict.claim.organisation).message,
        "needs_review": verdict.needs_review,
        "winner": {
            "document": document_id_to_json(winner.document),
            "team": winner.team,
            "organisation": winner.organisation,
            # For readers who may see the winner's team; `message` above is for the loser's organisation.
            "message": verdict.message,
        }
        if winner
        else None,
    }


def observation_to_json(observation: Observation) -> dict[str, Any]:
    return {
        "subject": observation.subject.value,
        "message": observation.message,
        "is_warning": observation.is_warning,
    }


def condition_to_json(condition: Condition) -> dict[str, Any]:
    at = condition.last_transition_at
    return {
        "type": condition.type.value,
        "status": condition.status.value,
        "reason": str(condition.reason),
        "message": condition.message,
        "observed_generation": condition.observed_generation,
        "last_transition_at": at.isoformat() if at else None,
    }


def conditions_from_json(rows: Iterable[dict[str, Any]], data_plane: str) -> list[Condition]:
    """Return the conditions of types that this release knows."""
    return [_condition_from_json(row, data_plane) for row in rows if row["type"] in _TYPES]


def _condition_from_json(data: dict[str, Any], data_plane: str) -> Condition:
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


def _agent_to_json(agent: Agent) -> dict[str, Any]:
    canary = canary_to_json(agent.canary)
    return {"id": agent.id, "deployment": agent.deployment.members, "team": agent.team, "canary": canary}


def _route_to_json(route: Route) -> dict[str, Any]:
    return {
        "task_type": route.task_type,
        "agent": route.agent,
        "team": route.team,
        "document": document_id_to_json(route.document),
        "version": route.version,
        "pin": route.pin,
        "mapped": route.mapped,
    }


def _input_to_json(bundle_input: BundleInput) -> dict[str, Any]:
    document = document_id_to_json(bundle_input.document)
    return {"document": document, "generation": bundle_input.generation, "digest": bundle_input.digest}


def _deployment_from_json(data: dict[str, Any]) -> Deployment:
    timeouts = {Operation(name): value for name, value in data["timeouts"].items() if name in _OPERATIONS}
    return Deployment(**{**_known(Deployment, data), "timeouts": timeouts})


def _agent_from_json(data: dict[str, Any]) -> Agent:
    return Agent(
        data["id"], _deployment_from_json(data["deployment"]), data["team"], canary_from_json(data["canary"])
    )


def _target_from_json(data: dict[str, Any]) -> Target:
    lists = {name: tuple(data[name]) for name in ("release", "enabled_plugins", "placeholders")}
    return Target(**{**_known(Target, data), **lists, "dialect": Dialect(data["dialect"])})


def _diagnostic_from_json(data: dict[str, Any]) -> Diagnostic:
    members = _known(Diagnostic, data)
    return Diagnostic(**{**members, "code": Code(data["code"]), "severity": Severity(data["severity"])})


def _known(kind: type[Any], data: dict[str, Any]) -> dict[str, Any]:
    names = _MEMBERS[kind]
    return data if data.keys() <= names else {name: data[name] for name in data.keys() & names}


_MEMBERS = {
    kind: frozenset(field.name for field in fields(kind))
    for kind in (BundleInput, Canary, Deployment, Diagnostic, Route, Target, TaskTypeFacts)
}
_CODES, _TYPES, _OPERATIONS = frozenset(Code), frozenset(Type), frozenset(Operation)
