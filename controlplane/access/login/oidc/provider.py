"""Identity providers: their configuration and its rules. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from controlplane.access.login.oidc.claims import ClaimRule

TENANT = "{tenantid}"
# The organisation of the installation itself.
DEFAULT_ORGANISATION = "default"


class ProviderKind(StrEnum):
    """The product of a provider, where its tokens differ from the standard."""

    GENERIC = "generic"
    KEYCLOAK = "keycloak"
    OKTA = "okta"
    ENTRA = "entra"
    GOOGLE = "google"


class ProviderSource(StrEnum):
    """Where a provider is configured. Only those of the API can be changed there."""

    SETTING = "setting"
    API = "api"


@dataclass(frozen=True, slots=True)
class Provider:
    """An OpenID provider at which people can log in.

    allowed_domains: e-mail domains (`hd` for Google); empty for any. tenants: Entra tenant ids, for an issuer
    with `{tenantid}`. organisation: of people who log in here for the first time.
    is_authoritative: roles given by hand are removed at login.
    """

    slug: str
    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    title: str = ""
    kind: ProviderKind = ProviderKind.GENERIC
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    group_claim: str = "groups"
    rules: tuple[ClaimRule, ...] = ()
    is_authoritative: bool = False
    allowed_domains: tuple[str, ...] = ()
    tenants: tuple[str, ...] = ()
    organisation: str = DEFAULT_ORGANISATION
    is_active: bool = True
    source: ProviderSource = ProviderSource.SETTING

    @property
    def label(self) -> str:
        return self.title or self.slug

    @property
    def metadata_issuer(self) -> str:
        """The issuer below which the discovery document is."""
        return self.issuer.replace(TENANT, "organizations")

    def issuer_for(self, claims: Mapping[str, Any]) -> str:
        """Return the issuer that a token with these claims must have."""
        tenant = claims.get("tid")
        return self.issuer.replace(TENANT, tenant) if isinstance(tenant, str) else self.issuer
