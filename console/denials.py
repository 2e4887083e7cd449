"""The page for those who may not open a page: what is missing, and who can grant it."""

from __future__ import annotations

from django.conf import settings
from django.db.models import Q
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from controlplane.access.models import Principal, PrincipalKind
from controlplane.errors import PermissionDenied
from controlplane.identity.roles import Role

_MOST_NAMES = 5


def denied_page(request: HttpRequest, error: PermissionDenied) -> HttpResponse:
    """Return the page with status 403."""
    context = {"reason": error.detail, "contact": settings.ACCESS_CONTACT, "people": administrators()}
    return render(request, "console/denied.html", context, status=403)


def administrators() -> list[str]:
    """Return the names of some people who can grant every role."""
    everywhere = Q(role_bindings__role=Role.ADMIN, role_bindings__project="", role_bindings__domain="")
    lasting = Q(role_bindings__expires_at=None) | Q(role_bindings__expires_at__gt=Now())
    people = Principal.objects.filter(
        everywhere, lasting, kind=PrincipalKind.PERSON, is_active=True, role_bindings__owned_by=None
    )
    return list(people.order_by("name").values_list("name", flat=True).distinct()[:_MOST_NAMES])
