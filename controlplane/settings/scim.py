"""Users and groups from an identity provider by SCIM 2.0."""

from django.core.exceptions import ImproperlyConfigured

from controlplane.extras import is_installed, missing
from controlplane.settings import environment as env

__all__ = ["SCIM", "SCIM_ISSUER"]

SCIM = env.boolean(
    "SCIM",
    default=False,
    meaning="Serve SCIM 2.0 at /scim/v2, so that an identity provider creates, changes and deactivates people"
    " and the members of teams. Requires the extra `scim`.",
)
SCIM_ISSUER = env.text(
    "SCIM_ISSUER",
    default="",
    meaning="Issuer of the identity provider whose subjects are the `externalId` of its users. People whom it"
    " creates by SCIM then log in with their account there. Empty: an administrator links identities.",
)
if SCIM and not is_installed("scim"):
    raise ImproperlyConfigured(f"SCIM=on needs more packages. {missing('scim')}")
