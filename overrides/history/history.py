"""The history of overrides: what stood at a revision, who said what, what differs between two revisions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import F, OuterRef, Q, Subquery, TextField
from django.db.models.functions import Cast

from controlplane.errors import UnknownOverride, UnknownVersion
from controlplane.scopes import Scope
from overrides.loading.catalogue_cache import current_catalogue
from overrides.models import OverrideVersion
from overrides.projects import check_known
from overrides.querysets import Differs, OverrideQuerySet
from overrides.resolution.addresses import Address
from overrides.resolution.leaves import Path, leaves, pointer
from overrides.resolution.merging import Attributes, MergeRule, canonical

_ADDRESS = ("project", "domain", "workflow", "launch_plan", "resource_type")


@dataclass(frozen=True, slots=True)
class Blamed:
    """One leaf of a stored document, and the version that gave it its present value."""

    pointer: str
    value: object
    version: OverrideVersion


def versions_of(address: Address) -> OverrideQuerySet[OverrideVersion]:
    """Every version of the override at this address, deletions included."""
    found: OverrideQuerySet[OverrideVersion] = OverrideVersion.objects.of(
        address.resource_type, address.scope
    )
    return found


def get_version(address: Address, version: int) -> OverrideVersion:
    """Raises UnknownVersion."""
    found: OverrideVersion | None = versions_of(address).filter(version=version).first()
    if found is None:
        raise UnknownVersion(f"{address} never had the version {version}.")
    return found


def override_as_of(address: Address, revision: int) -> OverrideVersion:
    """What was set at this address at the revision. Raises UnknownOverride and the like."""
    current_catalogue(revision).get(address.resource_type)
    check_known(address.scope)
    past = versions_of(address).filter(revision__lte=revision).order_by("-version").first()
    if past is None or past.attributes is None:
        raise UnknownOverride(
            f"No {address.resource_type} was set at {address.scope} at revision {revision}."
        )
    return past


def latest_as_of(revision: int) -> OverrideQuerySet[OverrideVersion]:
    """What stood at the revision, one row for each address; deletions are there with no attributes."""
    upto = OverrideVersion.objects.filter(revision__lte=revision)
    latest = upto.order_by(*_ADDRESS, "-version").distinct(*_ADDRESS)
    found: OverrideQuerySet[OverrideVersion] = OverrideVersion.objects.filter(pk__in=latest.values("pk"))
    return found


def standing_as_of(revision: int) -> OverrideQuerySet[OverrideVersion]:
    """The overrides that were set at the revision."""
    return latest_as_of(revision).filter(attributes__isnull=False)


def attributes_as_of(addresses: Iterable[Address], revision: int) -> dict[Address, Attributes | None]:
    """What stood at these addresses at the revision; None where nothing was set."""
    wanted = list(addresses)
    match = Q(pk__in=[])
    for one in wanted:
        match |= Q(resource_type=one.resource_type, **one.scope.segments)
    upto = OverrideVersion.objects.filter(match, revision__lte=revision)
    rows = upto.order_by(*_ADDRESS, "-version").distinct(*_ADDRESS)
    found = {address_of(row): row.attributes for row in rows}
    return {one: found.get(one) for one in wanted}


def changed_between(earlier: int, later: int) -> OverrideQuerySet[OverrideVersion]:
    """The last version after `earlier`, up to `later`, of each address that has one."""
    within = OverrideVersion.objects.filter(revision__gt=earlier, revision__lte=later)
    last = within.order_by(*_ADDRESS, "-version").distinct(*_ADDRESS)
    found: OverrideQuerySet[OverrideVersion] = OverrideVersion.objects.filter(pk__in=last.values("pk"))
    return found


def differing_between(earlier: int, later: int) -> OverrideQuerySet[OverrideVersion]:
    """Of `changed_between`, the addresses whose attributes differ between the two revisions.

    What was changed and changed back, was created and deleted, or got another manager does not differ.
    """
    same_address = {name: OuterRef(name) for name in _ADDRESS}
    past = OverrideVersion.objects.filter(revision__lte=earlier, **same_address).order_by("-version")
    # As texts: as jsonb 1 and 1.0 are equal.
    before = Cast(Subquery(past.values("attributes")[:1]), TextField())
    differs = Differs(before, Cast("attributes", TextField()))
    found: OverrideQuerySet[OverrideVersion] = changed_between(earlier, later).filter(differs)
    return found


def blame(address: Address, rule: MergeRule, *, as_of: int | None = None) -> list[Blamed]:
    """For each leaf that is set here: the version since which it has its value without a break."""
    past = versions_of(address)
    if as_of is not None:
        past = past.filter(revision__lte=as_of)
    versions = list(past.order_by(F("version").desc()))
    if not versions or versions[0].attributes is None:
        raise UnknownVersion(f"Nothing is set for {address}, so there is nobody to name.")
    newest = versions[0].attributes
    found: dict[Path, OverrideVersion] = {}
    open_ = {path: canonical(value) for path, value in leaves(newest, rule)}
    for version in versions:
        stated = {} if version.attributes is None else dict(leaves(version.attributes, rule))
        open_ = {p: text for p, text in open_.items() if p in stated and canonical(stated[p]) == text}
        found |= dict.fromkeys(open_, version)
    return [Blamed(pointer(newest, path), value, found[path]) for path, value in leaves(newest, rule)]


def address_of(row: OverrideVersion) -> Address:
    return Address(row.resource_type, Scope(row.domain, row.project, row.workflow, row.launch_plan))
