"""Organisations of the installation (ORGANISATIONS=on): their projects, and what a tenant reaches.

Row-level security is beneath it (controlplane.database.row_security): with the confinement of grants alone
broken, a tenant's transaction would still see no row of another organisation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from controlplane.access.models import Principal
from controlplane.access.team_models import DEFAULT_ORGANISATION, Organisation, OrganisationProject, Team
from controlplane.errors import UnknownOrganisation
from controlplane.identity.callers import Caller, Tenant
from controlplane.identity.grants import Grant
from controlplane.identity.tenancy import Tenancy, confine, organisation_actions

_SET_ORGANISATION = "SELECT set_config('app.organisation', %s, true)"


def get_organisation(slug: str) -> Organisation:
    """Return the organisation. Raises UnknownOrganisation."""
    organisation = Organisation.objects.filter(slug=slug).first()
    if organisation is None:
        raise UnknownOrganisation(f"The organisation {slug[:80]!r} does not exist.")
    return organisation


def add_project(organisation_id: UUID, project: str) -> None:
    """Give a new project to an organisation, in the transaction that creates it."""
    OrganisationProject.objects.create(organisation_id=organisation_id, project=project)


def confine_to_organisation(
    principal: Principal, grants: tuple[Grant, ...]
) -> tuple[tuple[Grant, ...], Tenant | None]:
    """Return what the grants allow within the principal's organisation, and the organisation.

    Principals of the organisation `default` belong to the installation: their grants stay as they are.
    """
    if not settings.ORGANISATIONS or principal.organisation_id == DEFAULT_ORGANISATION:
        return grants, None
    tenancy = _load_tenancy(principal.organisation)
    return confine(grants, tenancy), Tenant(tenancy.id, tenancy.slug, organisation_actions(grants))


def _load_tenancy(organisation: Organisation) -> Tenancy:
    projects = OrganisationProject.objects.filter(organisation=organisation).values_list("project", flat=True)
    teams: Iterable[Team] = Team.objects.filter(organisation=organisation).order_by("slug")
    return Tenancy(organisation.id, organisation.slug, frozenset(projects), tuple(team.ref for team in teams))


def enter_organisation(caller: Caller) -> None:
    """Limit the rows of this transaction to the caller's organisation, by row-level security.

    Requests run in one transaction each if ORGANISATIONS is on. Without a transaction it has no effect:
    fast paths check grants alone. `SET` instead of `SET LOCAL` would leak to the next client of a pooler.
    """
    if caller.tenant is not None and connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute(_SET_ORGANISATION, [str(caller.tenant.id)])


@contextmanager
def of_all_organisations() -> Iterator[None]:
    """Lift row-level security for what the platform computes from the rows of all teams.

    A bundle that a tenant's request computes has the documents of every organisation.
    """
    if not settings.ORGANISATIONS or not connection.in_atomic_block:
        yield
        return
    # An error rolls the setting back with everything else.
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('app.organisation', true)")
        current = cursor.fetchone()[0] or ""
        cursor.execute(_SET_ORGANISATION, [""])
        yield
        cursor.execute(_SET_ORGANISATION, [current])
