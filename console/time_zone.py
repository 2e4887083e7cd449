"""The page and the button that choose the time zone."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from console.pages import page
from console.shown_zone import BROWSER, UTC, ZONE_COOKIE, is_zone, read_zone, zone_names
from controlplane.identity.callers import Caller

_YEAR = 365 * 24 * 3600


@page
def time_zone(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Show the choice; on POST keep it in a cookie and go back to where the reader was."""
    chosen = request.POST.get("zone", "").strip()
    is_known = chosen == BROWSER or is_zone(chosen)
    if request.method == "POST" and is_known:
        response = HttpResponseRedirect(_back(request))
        response.set_cookie(ZONE_COOKIE, chosen, max_age=_YEAR, samesite="Lax")
        return response
    context = {
        "shown": read_zone(request.COOKIES),
        "names": sorted(zone_names()),
        "wrong": chosen if request.method == "POST" else "",
        "utc": UTC,
        "next": _back(request),
    }
    return render(request, "console/time_zone.html", context, status=422 if context["wrong"] else 200)


def _back(request: HttpRequest) -> str:
    address = request.POST.get("next") or request.GET.get("next") or reverse("time-zone")
    is_ours = url_has_allowed_host_and_scheme(
        address, {request.get_host()}, require_https=request.is_secure()
    )
    return address if is_ours else reverse("time-zone")
