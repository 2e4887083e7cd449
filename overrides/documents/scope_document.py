"""Get and put everything in effect at a scope as one document (RFC 3749, GetOverrides)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Max

from controlplane.identity.actors import Actor
from controlplane.preconditions import check
from controlplane.scopes import Scope
from overrides.documents.documents import API_VERSION, KIND, entry_of
from overrides.editing.commit import begin, commit
from overrides.editing.draft import Draft
from overrides.editing.plans import Plan
from overrides.editing.writes import WriteOptions, refuse_conflicts
from overrides.effective.effective import effective_attributes
from overrides.effective.results import EffectiveType
from overrides.field_managers import replace_attributes
from overrides.loading.current import load_current
from overrides.models import Override, OverrideVersion, Revision, ScopeHead
from overrides.projects import check_known
from overrides.resolution.addresses import Address, Statement
from overrides.resolution.resolve import Layer


@dataclass(frozen=True, slots=True)
class ScopeDocument:
    """The document of a scope, and its version."""

    scope: Scope
    version: int
    content: Mapping[str, Any]


def scope_document(scope: Scope, *, as_of: int | None = None) -> ScopeDocument:
    """Build the document of a scope, now or at a revision.

    Overrides of the scope appear as they are set. Types without an override here appear with their resolved
    values, marked `inherited`, with the level that they come from. Values that an override here inherits are
    listed under `status`, so that putting the document back sets nothing new.
    """
    effective = effective_attributes(scope, as_of=as_of)
    version = document_version(scope, as_of=as_of)
    spec: dict[str, Mapping[str, Any]] = {}
    inherited: dict[str, list[dict[str, Any]]] = {}
    for effective_type in effective.types:
        own_layer = _own_layer(effective_type, scope)
        key = effective_type.resource_type.document_key
        if own_layer is None:
            spec[key] = _inherited(effective_type)
            continue
        spec[key] = effective_type.resource_type.show(own_layer.attributes)
        if values := _inherited_leaves(effective_type, own_layer):
            inherited[key] = values
    status: dict[str, Any] = {"version": version, **({"inherited": inherited} if inherited else {})}
    head = {"apiVersion": API_VERSION, **entry_of(scope), "kind": KIND}
    return ScopeDocument(scope, version, {**head, "spec": spec, "status": status})


def document_version(scope: Scope, *, as_of: int | None = None) -> int:
    """Return the last revision that changed anything in the document."""
    if as_of is None:
        heads = ScopeHead.objects.covering(scope)
    else:
        heads = OverrideVersion.objects.covering(scope).filter(revision__lte=as_of)  # type: ignore[assignment]
    everything = Revision.objects.filter(everything=True)
    if as_of is not None:
        everything = everything.filter(revision__lte=as_of)
    of_rows = heads.aggregate(last=Max("revision"))["last"] or 0
    return max(of_rows, everything.aggregate(last=Max("revision"))["last"] or 0)


@transaction.atomic
def put_document(
    scope: Scope, statements: Sequence[Statement], *, actor: Actor, options: WriteOptions
) -> tuple[ScopeDocument, Plan]:
    """Set exactly these statements at the scope; delete its other overrides."""
    catalogue = begin(actor)
    check_known(scope)
    # A document always exists; the first one has version 0 and sets nothing.
    check(options.precondition, document_version(scope))
    stated = {statement.address: statement for statement in statements}
    here = [
        Address(name, scope) for name in Override.objects.at(scope).values_list("resource_type", flat=True)
    ]
    drafts = []
    for address, current in load_current([*stated, *here]).items():
        statement = catalogue.get(address.resource_type)
        pointer = stated[address].pointer if address in stated else ""
        attributes = stated[address].attributes if address in stated else None
        outcome = replace_attributes(
            current.attributes, current.owners, attributes, statement.rule, options.manager
        )
        refuse_conflicts(address, outcome, force=options.force, pointer=pointer)
        drafts.append(Draft(current, attributes, outcome.owners, pointer=pointer))
    plan = commit(drafts, catalogue, actor=actor, options=options.commit_options)
    return scope_document(scope), plan


def _own_layer(effective_type: EffectiveType, scope: Scope) -> Layer | None:
    own_layers = (layer for layer in effective_type.layers if layer.scope == scope and not layer.is_default)
    return next(own_layers, None)


def _inherited(effective_type: EffectiveType) -> dict[str, Any]:
    """Return the resolved values of a type not set here, with the most specific level of their sources."""
    layers = [leaf.source for leaf in effective_type.resolved.leaves]
    nearest = max(layers, key=lambda layer: (not layer.is_default, layer.scope.level), default=None)
    source = level_of(nearest) if nearest else "platform"
    return {
        "inherited": True,
        "source": source,
        **effective_type.resource_type.show(effective_type.resolved.attributes),
    }


def _inherited_leaves(effective_type: EffectiveType, own_layer: Layer) -> list[dict[str, Any]]:
    return [
        {"pointer": leaf.pointer, "value": leaf.value, "source": level_of(leaf.source)}
        for leaf in effective_type.resolved.leaves
        if leaf.source.origin is not own_layer.origin
    ]


def level_of(layer: Layer) -> str:
    """Return the level that a value comes from, or `platform` for platform defaults."""
    return "platform" if layer.is_default else layer.scope.level.name.lower()
