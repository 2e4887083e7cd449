"""Errors of external issuers. Pure."""

from __future__ import annotations

from controlplane.errors.base import ControlplaneError
from controlplane.errors.not_found import NotFound


class IssuerUnavailable(ControlplaneError):
    """The keys of an issuer are unknown and cannot be fetched, so its tokens cannot be checked."""

    code = "issuer_unavailable"
    title = "Issuer unavailable"


class UnknownTrustedIssuer(NotFound):
    code = "unknown_trusted_issuer"
    title = "Trusted issuer not found"
