"""Apply each document for itself: one that is refused stops no other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.db import transaction
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from controlplane.api.problems import problem_of
from controlplane.errors import ControlplaneError, FieldError, InvalidRequest
from controlplane.formats.counts import counted
from overrides.api.plan_schemas import PlanRead
from overrides.documents.catalogue_documents import KINDS
from overrides.documents.documents import ReceivedDocument

MOST_DOCUMENTS = 1000


@extend_schema_field({"allOf": [{"$ref": "#/components/schemas/Problem"}], "nullable": True})
class ProblemField(serializers.JSONField):
    """A problem document, or null."""


class DocumentResult(serializers.Serializer[Any]):
    pointer = serializers.CharField(help_text="The document in the body, such as `/documents/0`.")
    status = serializers.IntegerField(help_text="200, or the status of the problem.")
    plan = PlanRead(allow_null=True, help_text="What it changed; null if it was refused.")
    problem = ProblemField(help_text="Why it was refused; otherwise null.")


class DocumentResults(serializers.Serializer[Any]):
    """The result of each document, in the order of the body."""

    applied = serializers.IntegerField()
    refused = serializers.IntegerField()
    items = DocumentResult(many=True)


def apply_each(
    documents: Sequence[ReceivedDocument], apply: Callable[[ReceivedDocument], dict[str, Any]]
) -> dict[str, Any]:
    """Apply the documents one by one, projects and types before the overrides that need them.

    apply: applies one document and returns its plan. Raises InvalidRequest for too many documents.
    """
    if len(documents) > MOST_DOCUMENTS:
        message = f"Send at most {counted(MOST_DOCUMENTS, 'document')} with atomic=false."
        raise InvalidRequest(message, errors=[FieldError("/documents", "max_length", message)])
    results = {document.pointer: _result(document, apply) for document in sorted(documents, key=_rank)}
    items = [results[document.pointer] for document in documents]
    applied = sum(item["problem"] is None for item in items)
    return {"applied": applied, "refused": len(items) - applied, "items": items}


def _result(
    document: ReceivedDocument, apply: Callable[[ReceivedDocument], dict[str, Any]]
) -> dict[str, Any]:
    try:
        with transaction.atomic():
            plan = apply(document)
    except ControlplaneError as error:
        refusal = problem_of(error)
        status = refusal["status"]
        return {"pointer": document.pointer, "status": status, "plan": None, "problem": refusal}
    return {"pointer": document.pointer, "status": 200, "plan": plan, "problem": None}


def _rank(document: ReceivedDocument) -> int:
    kind = document.value.get("kind") if isinstance(document.value, dict) else None
    return KINDS.index(kind) if kind in KINDS else len(KINDS)
