"""Creation of organisations, and the organisation of a caller."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from controlplane.access import audit, event_types
from controlplane.access.models import Principal
from controlplane.access.team_models import Organisation
from controlplane.access.teams.teams import check_team_name
from controlplane.errors import NameTaken, OrganisationsOff, UnknownOrganisation
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller


def check_own_organisation(caller: Caller, slug: str) -> None:
    """Raise UnknownOrganisation unless it is the caller's: nobody may act in another one."""
    if not Organisation.objects.filter(slug=slug, id__in=_own(caller)).exists():
        raise UnknownOrganisation(f"The organisation {slug[:80]!r} does not exist.")


def _own(caller: Caller) -> QuerySet[Principal, UUID]:
    return Principal.objects.filter(id=caller.principal_id or UUID(int=0)).values_list(
        "organisation_id", flat=True
    )


@transaction.atomic
def create_organisation(slug: str, *, title: str, actor: Actor) -> Organisation:
    """Create an organisation. Raises OrganisationsOff, InvalidRequest, NameTaken."""
    if not settings.ORGANISATIONS:
        raise OrganisationsOff(
            "This installation has one organisation. Separate people and objects with teams, or set"
            " ORGANISATIONS=on."
        )
    check_team_name(slug, "/slug", of="an organisation")
    organisation = Organisation(slug=slug, title=title)
    try:
        with transaction.atomic():
            organisation.save(force_insert=True)
    except IntegrityError as error:
        raise NameTaken(f"The organisation {slug!r} already exists. Choose another name.") from error
    organisation.refresh_from_db()
    audit.record(
        event_types.ORGANISATION_CREATED,
        "organisation",
        slug,
        actor=actor,
        before=None,
        after={"slug": slug, "title": title},
        data={"organisation": slug},
    )
    return organisation
