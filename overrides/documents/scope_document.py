"""One document with all that applies at a scope (RFC 3749, GetOverrides), and putting one back."""

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
from overrides.editing.commit import Draft, begin, commit
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
    """What a scope's document says, and the version of the whole."""

    scope: Scope
    version: int
    content: Mapping[str, Any]


def scope_document(scope: Scope, *, as_of: int | None = None) -> ScopeDocument:
    """Make the document of a scope, now or at a revision.

    What is set here stands as it is set. A type of which nothing is set here stands with its resolved
    values, marked `inherited` with the level that they come from. Values that a type set here inherits
    beside its own are listed under `status`, so that putting the document back sets nothing new.
    """
    effective = effective_attributes(scope, as_of=as_of)
    version = document_version(scope, as_of=as_of)
    spec, inherited = {}, {}
    for one in effective.types:
        own = _own_layer(one, scope)
        key = one.resource_type.document_key
        spec[key] = _inherited(one) if own is None else one.resource_type.show(own.attributes)
        if own is not None and (values := _beside(one, own)):
            inherited[key] = values
    status: dict[str, Any] = {"version": version, **({"inherited": inherited} if inherited else {})}
    head = {"apiVersion": API_VERSION, **entry_of(scope), "kind": KIND}
    return ScopeDocument(scope, version, {**head, "spec": spec, "status": status})


def document_version(scope: Scope, *, as_of: int | None = None) -> int:
    """The last revision that changed anything that the document is made of."""
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
    """Set exactly these statements at the scope; what else is set at it is removed."""
    catalogue = begin(actor)
    check_known(scope)
    # There always is a document, at first one of version 0 that sets nothing.
    check(options.precondition, document_version(scope))
    stated = {one.address: one for one in statements}
    here = [
        Address(name, scope) for name in Override.objects.at(scope).values_list("resource_type", flat=True)
    ]
    drafts = []
    for address, now in load_current([*stated, *here]).items():
        one = catalogue.get(address.resource_type)
        pointer = stated[address].pointer if address in stated else ""
        wanted = stated[address].attributes if address in stated else None
        outcome = replace_attributes(now.attributes, now.owners, wanted, one.rule, options.manager)
        refuse_conflicts(address, outcome, force=options.force, pointer=pointer)
        drafts.append(Draft(now, wanted, outcome.owners, pointer=pointer))
    plan = commit(drafts, catalogue, actor=actor, options=options.commit_options)
    return scope_document(scope), plan


def _own_layer(one: EffectiveType, scope: Scope) -> Layer | None:
    own = (layer for layer in one.layers if layer.scope == scope and not layer.is_default)
    return next(own, None)


def _inherited(one: EffectiveType) -> dict[str, Any]:
    """The resolved values of a type that is not set here, with the most specific level they come from."""
    layers = [leaf.source for leaf in one.resolved.leaves]
    nearest = max(layers, key=lambda layer: (not layer.is_default, layer.scope.level), default=None)
    source = level_of(nearest) if nearest else "platform"
    return {"inherited": True, "source": source, **one.resource_type.show(one.resolved.attributes)}


def _beside(one: EffectiveType, own: Layer) -> list[dict[str, Any]]:
    return [
        {"pointer": leaf.pointer, "value": leaf.value, "source": level_of(leaf.source)}
        for leaf in one.resolved.leaves
        if leaf.source.origin is not own.origin
    ]


def level_of(layer: Layer) -> str:
    """The word for where a value comes from: a level, or `platform` for what nobody set."""
    return "platform" if layer.is_default else layer.scope.level.name.lower()
