"""The facts that the registry announces."""

from typing import Any

from controlplane.access.roles import Action
from controlplane.events.audiences import declare_audience
from controlplane.events.types import EventType, register
from registry.agents.states import State
from registry.providers.health import Health

_TEXT: dict[str, Any] = {"type": "string"}
_AGENT: dict[str, Any] = {"agent_id": _TEXT, "name": _TEXT, "environment": _TEXT}
_MOVE: dict[str, Any] = {**_AGENT, "from": _TEXT, "reason": _TEXT}

_WHOLE: dict[str, Any] = {"type": "integer"}
_GUARD: dict[str, Any] = {"environment": _TEXT, "silent": _WHOLE, "agents": _WHOLE, "reason": _TEXT}

for _kind in ("agent", "environment", "fleet_guard", "provider"):
    declare_audience(_kind, Action.AGENT_READ)
declare_audience("join_token", Action.ACCESS_READ)
for _kind in (
    "agent_config",
    "publishing_team",
    "agent_config_grant",
    "agent_config_claim",
    "agent_config_part",
):
    declare_audience(_kind, Action.AGENT_CONFIG_READ)
# Bundles are made of what every team publishes, and sources hold documents of every team.
for _kind in ("data_plane", "agent_config_bundle", "agent_config_folder", "agent_config_cluster"):
    declare_audience(_kind, Action.AGENT_CONFIG_READ, holds_all_teams=True)

AGENT_REGISTERED = register("agent.registered", "An agent is known now.", **_AGENT)
AGENT_CHANGED = register("agent.changed", "An agent registered again, with other facts.", **_AGENT)
BY_STATE: dict[State, EventType] = {
    State.READY: register("agent.ready", "An agent can take work again.", **_MOVE),
    State.CONGESTED: register("agent.congested", "An agent has more unread work than it should.", **_MOVE),
    State.UNAVAILABLE: register("agent.unavailable", "An agent was silent until its lease ran out.", **_MOVE),
    State.REGISTERED: register("agent.waiting", "An agent joined and waits for approval.", **_MOVE),
    State.DRAINING: register("agent.draining", "An agent gets no more work.", **_MOVE),
    State.RETIRED: register("agent.retired", "An agent said goodbye, or was sent away.", **_MOVE),
    State.UNKNOWN: register("agent.unknown", "An agent fell silent with too many others.", **_MOVE),
}
AGENT_REMOVED = register("agent.removed", "An agent's record is gone.", **_AGENT)
# An alert: somebody should stop one of the two.
AGENT_DUPLICATED = register(
    "agent.duplicated",
    "Two processes use the name and credential of one agent; the second is refused.",
    **_AGENT,
    instance_uuid=_TEXT,
    refused_instance_uuid=_TEXT,
)
_SECONDS: dict[str, Any] = {"type": ["integer", "null"]}
AGENT_LEASE_CHANGED = register(
    "agent.lease_changed",
    "The lease of one agent was set, or follows its environment again.",
    **_AGENT,
    lease_seconds=_SECONDS,
)
ENVIRONMENT_LEASE_CHANGED = register(
    "environment.lease_changed",
    "The lease of an environment's agents was set, or follows the installation again.",
    environment=_TEXT,
    lease_seconds=_SECONDS,
)
AGENT_ROTATED = register("agent.rotated", "An agent got a new credential.", **_AGENT)
_JOIN_TOKEN: dict[str, Any] = {"join_token_id": _TEXT, "name": _TEXT}
JOIN_TOKEN_MADE = register("join_token.created", "A join token was made.", **_JOIN_TOKEN)
JOIN_TOKEN_REFUSED = register(
    "join_token.refused", "Somebody who knows a join token was not let in.", **_JOIN_TOKEN, reason=_TEXT
)
JOIN_TOKEN_REVOKED = register("join_token.revoked", "A join token lets nobody in any more.", **_JOIN_TOKEN)
# Alerts: one for each environment, or the fleet (an empty one), however many agents are silent.
GUARD_ENGAGED = register("fleet_guard.engaged", "Too many agents fell silent at once.", **_GUARD)
GUARD_LIFTED = register("fleet_guard.lifted", "Silent agents count as unavailable again.", **_GUARD)
GUARD_OVERRULED = register(
    "fleet_guard.overruled",
    "An operator took the guard into their own hands, or gave it back.",
    environment=_TEXT,
    ruling=_TEXT,
)

_PROVIDER: dict[str, Any] = {
    "agent_id": _TEXT,
    "agent": _TEXT,
    "environment": _TEXT,
    "provider_id": _TEXT,
    "name": _TEXT,
    "service_type": _TEXT,
}
_PROVIDER_MOVE: dict[str, Any] = {**_PROVIDER, "from": _TEXT, "reason": _TEXT}
PROVIDER_REGISTERED = register("provider.registered", "An agent has a service provider more.", **_PROVIDER)
PROVIDER_CHANGED = register(
    "provider.changed", "A service provider registered with other facts.", **_PROVIDER
)
PROVIDER_REMOVED = register("provider.removed", "A service provider was taken away.", **_PROVIDER)
PROVIDER_EXPIRED = register(
    "provider.expired", "A service provider was not named until its lease ran out.", **_PROVIDER_MOVE
)
BY_HEALTH: dict[Health, EventType] = {
    Health.READY: register("provider.ready", "A service provider takes work.", **_PROVIDER_MOVE),
    Health.UNHEALTHY: register(
        "provider.unhealthy", "A service provider answers, and takes no work.", **_PROVIDER_MOVE
    ),
    Health.UNAVAILABLE: register(
        "provider.unavailable", "A service provider does not answer; its type is withheld.", **_PROVIDER_MOVE
    ),
}

_DOCUMENT: dict[str, Any] = {"source": _TEXT, "team": _TEXT, "name": _TEXT}
_GIVEN: dict[str, Any] = {"data_plane": _TEXT, "revision": _WHOLE, "digest": _TEXT}
CONFIG_PUBLISHED = register(
    "agent_config.published",
    "A document was published, or changed.",
    **_DOCUMENT,
    generation=_WHOLE,
    valid={"type": "boolean"},
)
CONFIG_REMOVED = register("agent_config.removed", "A document was taken away.", **_DOCUMENT)
CONFIG_STATUS_CHANGED = register(
    "agent_config.status_changed",
    "A document stands otherwise in a data plane than before.",
    **_DOCUMENT,
    data_plane=_TEXT,
    condition=_TEXT,
    status=_TEXT,
    reason=_TEXT,
    message=_TEXT,
)
CONFIG_QUARANTINED = register(
    "agent_config.quarantined",
    "A document is left out, or kept as it was. An empty data plane is all of them.",
    **_DOCUMENT,
    data_plane=_TEXT,
    reason=_TEXT,
    message=_TEXT,
)
CONFIG_READMITTED = register(
    "agent_config.readmitted", "A document counts again.", **_DOCUMENT, data_plane=_TEXT, reason=_TEXT
)
TEAM_CHANGED = register(
    "publishing_team.changed", "Who publishes for a team was changed.", team=_TEXT, organisation=_TEXT
)
_GRANT: dict[str, Any] = {"team": _TEXT, "kind": _TEXT, "pattern": _TEXT}
GRANT_GIVEN = register("agent_config_grant.given", "A team may have what fits a pattern.", **_GRANT)
GRANT_WITHDRAWN = register("agent_config_grant.withdrawn", "A grant was taken back.", **_GRANT)
_CLAIM: dict[str, Any] = {"kind": _TEXT, "name": _TEXT}
CLAIM_RELEASED = register(
    "agent_config_claim.released",
    "A team gives a name up as soon as somebody claims it.",
    team=_TEXT,
    **_CLAIM,
)
CLAIM_TRANSFERRED = register(
    "agent_config_claim.transferred", "A name went to another team.", from_team=_TEXT, to_team=_TEXT, **_CLAIM
)
PLANE_REGISTERED = register("data_plane.registered", "A data plane is known now.", data_plane=_TEXT)
PLANE_CHANGED = register("data_plane.changed", "A data plane is described otherwise.", data_plane=_TEXT)
PLANE_REMOVED = register("data_plane.removed", "A data plane is no longer served.", data_plane=_TEXT)
BUNDLE_ACTIVATED = register("agent_config_bundle.activated", "A data plane is given a new bundle.", **_GIVEN)
# Alerts: somebody should look.
BUNDLE_HELD = register(
    "agent_config_bundle.held",
    "A bundle is not given out; the last good one stays.",
    data_plane=_TEXT,
    digest=_TEXT,
    gate=_TEXT,
    message=_TEXT,
)
PART_HELD = register(
    "agent_config_part.held",
    "A team's change is not given to a data plane; what the team had there stays in force.",
    data_plane=_TEXT,
    team=_TEXT,
    digest=_TEXT,
    gate=_TEXT,
    message=_TEXT,
)
BUNDLE_APPROVED = register(
    "agent_config_bundle.approved",
    "An administrator approved a bundle, or a team's change, that was held.",
    data_plane=_TEXT,
    digest=_TEXT,
)
BUNDLE_APPLIED = register(
    "agent_config_bundle.applied", "A data plane works with a bundle.", **_GIVEN, state=_TEXT
)
BUNDLE_REJECTED = register(
    "agent_config_bundle.rejected", "A data plane cannot take a bundle.", **_GIVEN, message=_TEXT
)
BUNDLE_UNACKNOWLEDGED = register(
    "agent_config_bundle.unacknowledged",
    "A data plane says nothing of the bundle that it was given.",
    **_GIVEN,
)
FOLDER_LOADED = register("agent_config_folder.loaded", "The folder of documents was read.", digest=_TEXT)
FOLDER_REFUSED = register(
    "agent_config_folder.refused", "The folder is not followed; what was read stays.", reason=_TEXT
)
FOLDER_CONFIRMED = register(
    "agent_config_folder.confirmed", "Somebody let files go that were many.", digest=_TEXT
)
CLUSTER_LOADED = register("agent_config_cluster.loaded", "The cluster's ConfigMaps were read.", digest=_TEXT)
CLUSTER_REFUSED = register(
    "agent_config_cluster.refused", "The cluster is not followed; what was read stays.", reason=_TEXT
)
CLUSTER_CONFIRMED = register(
    "agent_config_cluster.confirmed", "Somebody let ConfigMaps go that were many.", digest=_TEXT
)
