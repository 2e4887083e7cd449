"""Review ConfigMaps for Kubernetes admission (AdmissionReview v1), with the rules of publishing.

Invalid documents and claims to names of other teams are denied; deletions are always allowed. An update is
denied only for claims that it newly loses, so improvements are never denied.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.conf import settings

from controlplane.access.organisations import of_all_organisations
from controlplane.database.clock import database_now
from controlplane.errors import FieldError, InvalidRequest
from controlplane.formats.counts import counted
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agent_configs.bundles.compute import RecomputeInputs
from registry.agent_configs.claims.decide import Decision, decide
from registry.agent_configs.claims.history import drop_expired
from registry.agent_configs.claims.relations import claimable_names, find_related
from registry.agent_configs.claims.verdicts import Verdict, redact_hidden, redact_verdict
from registry.agent_configs.documents.diagnostics import Diagnostic
from registry.agent_configs.documents.envelopes import PREFIX
from registry.agent_configs.documents.published import DocumentId, PublishedDocument
from registry.agent_configs.documents.reading import Reading
from registry.agent_configs.metrics import ADMISSIONS
from registry.agent_configs.models import DataPlane
from registry.agent_configs.owners import owner_of
from registry.agent_configs.publishing.hidden_teams import HiddenTeams, hidden_teams
from registry.agent_configs.publishing.read_request import read_parsed
from registry.agent_configs.storage.load_documents import (
    LoadedDocument,
    load_documents,
    load_older_generations,
)
from registry.agent_configs.storage.load_inputs import load_claim_inputs, load_ownership

API_VERSION, KIND, SOURCE = "admission.k8s.io/v1", "AdmissionReview", "kubernetes"
# Kubernetes may truncate longer warnings, and all warnings together at 4096 bytes.
_LONGEST_WARNING, _MOST_WARNINGS = 120, 20


def review(
    body: Any, caller: Caller, *, source: str = SOURCE, namespaces: Collection[str] = ("*",)
) -> dict[str, Any]:
    """Return the response. source, namespaces: the cluster's name, and what it may report; `*` is all.

    Raises InvalidRequest unless the body is an AdmissionReview with a uid.

    Raises PermissionDenied if the caller's role is for another team than the namespace's.
    """
    request = body.get("request") if isinstance(body, Mapping) else None
    if not isinstance(request, Mapping) or not isinstance(request.get("uid"), str):
        message = "The body must be an AdmissionReview of admission.k8s.io/v1 with a request and its uid."
        raise InvalidRequest(message, errors=[FieldError("/request", "required", message)])
    with of_all_organisations():
        hidden = _hidden_from(caller, str(request.get("namespace") or ""))
        response = _review_request(request, hidden, source, namespaces)
    dry_run = request.get("dryRun") is True
    if not dry_run:
        ADMISSIONS.labels("allowed" if response["allowed"] else "denied", "false").inc()
    return {"apiVersion": API_VERSION, "kind": KIND, "response": {"uid": request["uid"], **response}}


def _hidden_from(caller: Caller, namespace: str) -> HiddenTeams:
    """Return the teams that a response must not name. Only roles for teams have any."""
    if caller.owners_for(Action.AGENT_CONFIG_ADMIT).everything:
        return HiddenTeams()
    caller.require(Action.AGENT_CONFIG_ADMIT, owner=owner_of(namespace))
    return hidden_teams(caller)


def _review_request(
    request: Mapping[str, Any], hidden: HiddenTeams, source: str, namespaces: Collection[str]
) -> dict[str, Any]:
    old, new = request.get("oldObject"), request.get("object")
    name = _read_request_name(request, new if isinstance(new, Mapping) else old)
    if not name.startswith(PREFIX):
        return {"allowed": True}
    document = DocumentId(source, str(request.get("namespace") or ""), name)
    if request.get("operation") == "DELETE":
        return {"allowed": True, "warnings": _shorten_warnings(_deletion_warnings(old))}
    if not {"*", document.namespace} & {*namespaces}:
        return _deny_namespace(document)
    is_real = request.get("dryRun") is not True
    reading = read_parsed(_with_generated_name(new, name), source="admission", counted=is_real)
    if reading.errors:
        return _build_denial(
            [(error.path or "/", error.code.value, _describe_diagnostic(error)) for error in reading.errors],
            reading,
        )
    conflicts = [redact_hidden(verdict, hidden) for verdict in _find_conflicts(document, reading, old)]
    if conflicts and settings.AGENT_CONFIGS_ADMISSION == "deny":
        return _build_denial(
            [(str(conflict.claim.key), conflict.reason.value, conflict.message) for conflict in conflicts],
            reading,
        )
    warnings = [
        *(warning.message for warning in reading.warnings),
        *(conflict.message for conflict in conflicts),
    ]
    return {"allowed": True, "warnings": _shorten_warnings(warnings)}


def _read_request_name(request: Mapping[str, Any], value: Any) -> str:
    """Return the object's name; with generateName only its prefix is known."""
    metadata = value.get("metadata") if isinstance(value, Mapping) else None
    metadata = metadata if isinstance(metadata, Mapping) else {}
    name = request.get("name") or metadata.get("name") or metadata.get("generateName") or ""
    return name if isinstance(name, str) else ""


def _with_generated_name(value: Any, name: str) -> Any:
    """Return the object with a name that generateName could produce."""
    metadata = value.get("metadata") if isinstance(value, Mapping) else None
    if not isinstance(metadata, Mapping) or metadata.get("name"):
        return value
    return {**value, "metadata": {**metadata, "name": f"{name}x"}}


def _find_conflicts(document: DocumentId, reading: Reading, old: Any) -> Iterator[Verdict]:
    """Yield claims that the document would newly lose in any data plane, each once."""
    now = database_now()
    ownership = load_ownership()
    before = read_parsed(old, source="admission", counted=False) if isinstance(old, Mapping) else None
    published = PublishedDocument(document, document.namespace, 1, reading.content, now)
    was = replace(published, content=before.content if before else None)
    documents, names = _load_related(document, (published, was), now=now)
    reported = set()
    for plane in DataPlane.objects.order_by("name"):
        world = load_claim_inputs(plane, documents, ownership, names=names, now=now)
        verdicts = _decide_with(world, published, now).newly_dropped(_decide_with(world, was, now), document)
        for verdict in verdicts:
            if verdict.claim.key not in reported:
                reported.add(verdict.claim.key)
                yield redact_verdict(verdict, "")


def _load_related(
    document: DocumentId, versions: Sequence[PublishedDocument], *, now: datetime
) -> tuple[list[LoadedDocument], set[str]]:
    """Load the documents that can affect the decision, and all names that they could claim.

    They are few of thousands, and Kubernetes waits only three seconds.
    """
    documents = [other for other in load_documents(now=now) if other.id != document]
    published = [*(other.published for other in documents), *load_older_generations(documents)]
    near = find_related(published, versions)
    names = {*claimable_names([*versions, *(other for other in published if other.id in near)])}
    return [other for other in documents if other.id in near], names


def _decide_with(world: RecomputeInputs, published: PublishedDocument, now: datetime) -> Decision:
    naming = replace(world.policy.naming, dialect=world.target.dialect)
    history = drop_expired(world.history, now=now, grace=world.grace)
    return decide(
        [*world.documents, published], world.ownership, history, replace(world.policy, naming=naming)
    )


def _deletion_warnings(old: Any) -> list[str]:
    reading = read_parsed(old, source="admission", counted=False) if isinstance(old, Mapping) else None
    routes = reading.content.routes if reading and reading.content else {}
    return [f"Task type {name} loses its agent {agent}." for name, agent in sorted(routes.items())]


def _describe_diagnostic(diagnostic: Diagnostic) -> str:
    where = f" ({diagnostic.file} {diagnostic.line}:{diagnostic.column})" if diagnostic.line else ""
    return f"{diagnostic.message}{where}"


def _deny_namespace(document: DocumentId) -> dict[str, Any]:
    message = (
        f"The cluster {document.source} may not report the namespace {document.namespace}. An administrator"
        " of the control plane can add it to the cluster's namespaces."
    )
    cause = {"field": "metadata.namespace", "reason": "NamespaceNotAllowed", "message": message}
    return _deny([cause], message)


def _build_denial(findings: Sequence[tuple[str, str, str]], reading: Reading) -> dict[str, Any]:
    causes = [{"field": field, "reason": reason, "message": message} for field, reason, message in findings]
    more = f" ({counted(len(causes) - 1, 'more error')}.)" if len(causes) > 1 else ""
    warnings = [warning.message for warning in reading.warnings]
    return _deny(causes, f"{causes[0]['message']}{more}", warnings)


def _deny(causes: list[dict[str, str]], message: str, warnings: Sequence[str] = ()) -> dict[str, Any]:
    status = {"code": 422, "reason": "Invalid", "message": message, "details": {"causes": causes}}
    return {"allowed": False, "status": status, "warnings": _shorten_warnings(warnings)}


def _shorten_warnings(messages: Sequence[str]) -> list[str]:
    reported = messages[:_MOST_WARNINGS]
    return [
        message if len(message) <= _LONGEST_WARNING else f"{message[: _LONGEST_WARNING - 3]}..."
        for message in reported
    ]
