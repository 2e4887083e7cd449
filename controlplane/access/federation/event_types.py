"""Event types of trusted issuers. Those of exchanges: access.login_event_types."""

from controlplane.events.audiences import declare_audience
from controlplane.events.types import TEXT, register
from controlplane.identity.roles import Action

declare_audience("trusted_issuer", Action.ACCESS_READ)

ISSUER_CREATED = register("trusted_issuer.created", "A trusted issuer was created.", issuer=TEXT)
ISSUER_CHANGED = register("trusted_issuer.changed", "A trusted issuer was changed.", issuer=TEXT)
ISSUER_DELETED = register("trusted_issuer.deleted", "A trusted issuer was deleted.", issuer=TEXT)
