"""The history of overrides: past states, blame, and differences between revisions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.db.models import F, OuterRef, Q, Subquery, TextField, Value
from django.db.models.functions import Cast, Coalesce

from controlplane.errors import UnknownOverride, UnknownVersion
from controlplane.scopes import Scope
from overrides.loading.catalogue_cache import current_catalogue
from overrides.models import OverrideVersion, Revision
from overrides.projects import check_known
from overrides.querysets import Differs, OverrideQuerySet
from overrides.resolution.addresses import Address
from overrides.resolution.leaves import ABSENT, Path, leaves, name_of, pointer, value_at
from overrides.resolution.merging import Attributes, MergeRule, canonical

# Versions read at once when looking for the one that set a value: mostly one of the last.
_STEP = 50
_ADDRESS = ("project", "domain", "workflow", "launch_plan", "resource_type")


@dataclass(frozen=True, slots=True)
class BlamedLeaf:
    """One leaf of a stored document, the version that set its current value, and who manages it now."""

    pointer: str
    value: object
    version: OverrideVersion
    managers: tuple[str, ...]


def versions_of(address: Address) -> OverrideQuerySet[OverrideVersion]:
    """Return every version of the override at this address, including deletions, with its `ticket`."""
    return with_tickets(OverrideVersion.objects.of(address.resource_type, address.scope))


def with_tickets(rows: OverrideQuerySet[OverrideVersion]) -> OverrideQuerySet[OverrideVersion]:
    """Add the `ticket` of each version, which is kept once for its revision."""
    ticket = Revision.objects.filter(revision=OuterRef("revision")).values("ticket")
    versions: OverrideQuerySet[OverrideVersion] = rows.annotate(ticket=Coalesce(Subquery(ticket), Value("")))
    return versions


def get_version(address: Address, version: int) -> OverrideVersion:
    """Return one version. Raises UnknownVersion."""
    row: OverrideVersion | None = versions_of(address).filter(version=version).first()
    if row is None:
        raise UnknownVersion(f"Version {version} of {address} does not exist.")
    return row


def override_as_of(address: Address, revision: int) -> OverrideVersion:
    """Return the override at this address at the revision. Raises UnknownOverride and similar errors."""
    current_catalogue(revision).get(address.resource_type)
    check_known(address.scope)
    past = versions_of(address).filter(revision__lte=revision).order_by("-version").first()
    if past is None or past.attributes is None:
        raise UnknownOverride(
            f"No {address.resource_type} was set at {address.scope} at revision {revision}."
        )
    return past


def latest_as_of(revision: int) -> OverrideQuerySet[OverrideVersion]:
    """Return the latest version of each address at the revision; deletions have no attributes."""
    upto = OverrideVersion.objects.filter(revision__lte=revision)
    latest = upto.order_by(*_ADDRESS, "-version").distinct(*_ADDRESS)
    versions: OverrideQuerySet[OverrideVersion] = OverrideVersion.objects.filter(pk__in=latest.values("pk"))
    return versions


def overrides_as_of(revision: int) -> OverrideQuerySet[OverrideVersion]:
    """Return the overrides at the revision."""
    return latest_as_of(revision).filter(attributes__isnull=False)


def attributes_as_of(addresses: Iterable[Address], revision: int) -> dict[Address, Attributes | None]:
    """Return the attributes at these addresses at the revision; None where nothing was set."""
    unique = list(addresses)
    match = Q(pk__in=[])
    for address in unique:
        match |= Q(resource_type=address.resource_type, **address.scope.segments)
    upto = OverrideVersion.objects.filter(match, revision__lte=revision)
    rows = upto.order_by(*_ADDRESS, "-version").distinct(*_ADDRESS)
    attributes = {address_of(row): row.attributes for row in rows}
    return {address: attributes.get(address) for address in unique}


def changes_between(earlier: int, later: int) -> OverrideQuerySet[OverrideVersion]:
    """Return the last version of each address after `earlier`, up to `later`."""
    within = OverrideVersion.objects.filter(revision__gt=earlier, revision__lte=later)
    last = within.order_by(*_ADDRESS, "-version").distinct(*_ADDRESS)
    versions: OverrideQuerySet[OverrideVersion] = OverrideVersion.objects.filter(pk__in=last.values("pk"))
    return versions


def differences_between(earlier: int, later: int) -> OverrideQuerySet[OverrideVersion]:
    """Return those of `changes_between` whose attributes differ between the two revisions.

    Overrides that were changed back, created and deleted, or only changed their manager do not differ.
    """
    same_address = {name: OuterRef(name) for name in _ADDRESS}
    past = OverrideVersion.objects.filter(revision__lte=earlier, **same_address).order_by("-version")
    # Compared as text, because 1 and 1.0 are equal as jsonb.
    before = Cast(Subquery(past.values("attributes")[:1]), TextField())
    differs = Differs(before, Cast("attributes", TextField()))
    versions: OverrideQuerySet[OverrideVersion] = changes_between(earlier, later).filter(differs)
    return versions


def blame(address: Address, rule: MergeRule, *, as_of: int | None = None) -> list[BlamedLeaf]:
    """Return for each leaf the version that set its current value."""
    history = versions_of(address)
    if as_of is not None:
        history = history.filter(revision__lte=as_of)
    versions = list(history.order_by(F("version").desc()))
    if not versions or versions[0].attributes is None:
        raise UnknownVersion(f"Nothing is set for {address}, so there is no blame to show.")
    newest, owners = versions[0].attributes, versions[0].owners
    versions_by_path: dict[Path, OverrideVersion] = {}
    unchanged = {path: canonical(value) for path, value in leaves(newest, rule)}
    for version in versions:
        stated = {} if version.attributes is None else dict(leaves(version.attributes, rule))
        unchanged = {
            path: text
            for path, text in unchanged.items()
            if path in stated and canonical(stated[path]) == text
        }
        versions_by_path |= dict.fromkeys(unchanged, version)
    return [
        BlamedLeaf(pointer(newest, path), value, versions_by_path[path], tuple(owners.get(name_of(path), ())))
        for path, value in leaves(newest, rule)
    ]


def version_that_set(address: Address, path: Path) -> OverrideVersion | None:
    """Return the version since which the override sets its present value at the path; None if it sets none.

    Unlike `blame`, reads the history only until the value differs.
    """
    since, text = None, ""
    for version in _newest_first(address):
        value = ABSENT if version.attributes is None else value_at(version.attributes, path)
        if value is ABSENT or (since is not None and canonical(value) != text):
            break
        since, text = version, canonical(value)
    return since


def _newest_first(address: Address) -> Iterator[OverrideVersion]:
    rows = versions_of(address).order_by("-version")
    while batch := list(rows[:_STEP]):
        yield from batch
        rows = rows.filter(version__lt=batch[-1].version)


def address_of(row: OverrideVersion) -> Address:
    return Address(row.resource_type, Scope(row.domain, row.project, row.workflow, row.launch_plan))
