"""Responses that send the browser to another site, such as an identity provider."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render


def leave(request: HttpRequest, url: str) -> HttpResponse:
    """Send the browser to a checked URL.

    Our Content Security Policy (`form-action`) does not let a form lead to another site, not even by a
    redirect. After a form, a page does it instead.
    """
    if request.method != "POST" or url.startswith("/"):
        return HttpResponseRedirect(url)
    return render(request, "console/login/leaving.html", {"url": url})
