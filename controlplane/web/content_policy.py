"""The Content-Security-Policy header, composed once for all responses without a policy of their own."""

from __future__ import annotations

from typing import Any

from csp.constants import HEADER
from csp.middleware import CheckableLazyObject, CSPMiddleware
from csp.utils import build_policy
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

# What django-csp's decorators set.
_OWN = frozenset(
    f"_csp_{name}{suffix}" for name in ("config", "update", "replace", "exempt") for suffix in ("", "_ro")
)


class ContentPolicyMiddleware(CSPMiddleware):
    """django-csp's middleware, which would compose the same text for each response."""

    def __init__(self, get_response: Any) -> None:
        super().__init__(get_response)
        self._policy: dict[str, Any] | None = None
        self._text = ""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Add the header unless the response has it."""
        if not _is_usual(request, response):
            return super().process_response(request, response)
        policy = settings.CONTENT_SECURITY_POLICY
        if policy is not self._policy:
            self._policy, self._text = policy, build_policy()
        response.headers.setdefault(HEADER, self._text)
        # Too late for a nonce: reading it now is an error, as in django-csp.
        request.csp_nonce = CheckableLazyObject(self._csp_nonce_post_response)  # type: ignore[attr-defined]
        return response


def _is_usual(request: HttpRequest, response: HttpResponseBase) -> bool:
    """Return whether nothing but the setting decides about the policy."""
    if hasattr(request, "_csp_nonce") or not _OWN.isdisjoint(vars(response)):
        return False
    return not (settings.DEBUG or hasattr(settings, "CONTENT_SECURITY_POLICY_REPORT_ONLY"))
