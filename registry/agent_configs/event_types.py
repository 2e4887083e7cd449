"""Events of agent configurations: documents, claims, data planes, bundles and sources."""

from typing import Any

from controlplane.events.audiences import declare_audience
from controlplane.events.types import INTEGER, TEXT, register
from controlplane.identity.roles import Action

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
_DOCUMENT: dict[str, Any] = {"source": TEXT, "team": TEXT, "name": TEXT}
_BUNDLE: dict[str, Any] = {"data_plane": TEXT, "revision": INTEGER, "digest": TEXT}
CONFIG_PUBLISHED = register(
    "agent_config.published",
    "A document was published, or changed.",
    **_DOCUMENT,
    generation=INTEGER,
    valid={"type": "boolean"},
)
CONFIG_REMOVED = register("agent_config.removed", "A document was taken away.", **_DOCUMENT)
CONFIG_STATUS_CHANGED = register(
    "agent_config.status_changed",
    "A document stands otherwise in a data plane than before.",
    **_DOCUMENT,
    data_plane=TEXT,
    condition=TEXT,
    status=TEXT,
    reason=TEXT,
    message=TEXT,
)
CONFIG_QUARANTINED = register(
    "agent_config.quarantined",
    "A document is left out, or kept as it was. An empty data plane is all of them.",
    **_DOCUMENT,
    data_plane=TEXT,
    reason=TEXT,
    message=TEXT,
)
CONFIG_READMITTED = register(
    "agent_config.readmitted", "A document counts again.", **_DOCUMENT, data_plane=TEXT, reason=TEXT
)
TEAM_CHANGED = register(
    "publishing_team.changed", "Who publishes for a team was changed.", team=TEXT, organisation=TEXT
)
_GRANT: dict[str, Any] = {"team": TEXT, "kind": TEXT, "pattern": TEXT}
GRANT_GIVEN = register("agent_config_grant.given", "A team may have what fits a pattern.", **_GRANT)
GRANT_WITHDRAWN = register("agent_config_grant.withdrawn", "A grant was taken back.", **_GRANT)
_CLAIM: dict[str, Any] = {"kind": TEXT, "name": TEXT}
CLAIM_RELEASED = register(
    "agent_config_claim.released",
    "A team gives a name up as soon as somebody claims it.",
    team=TEXT,
    **_CLAIM,
)
CLAIM_TRANSFERRED = register(
    "agent_config_claim.transferred", "A name went to another team.", from_team=TEXT, to_team=TEXT, **_CLAIM
)
PLANE_REGISTERED = register("data_plane.registered", "A data plane is known now.", data_plane=TEXT)
PLANE_CHANGED = register("data_plane.changed", "A data plane is described otherwise.", data_plane=TEXT)
PLANE_REMOVED = register("data_plane.removed", "A data plane is no longer served.", data_plane=TEXT)
BUNDLE_ACTIVATED = register("agent_config_bundle.activated", "A data plane is given a new bundle.", **_BUNDLE)
# Alerts: somebody should look.
BUNDLE_HELD = register(
    "agent_config_bundle.held",
    "A bundle is not given out; the last good one stays.",
    data_plane=TEXT,
    digest=TEXT,
    gate=TEXT,
    message=TEXT,
)
PART_HELD = register(
    "agent_config_part.held",
    "A team's change is not given to a data plane; what the team had there stays in force.",
    data_plane=TEXT,
    team=TEXT,
    digest=TEXT,
    gate=TEXT,
    message=TEXT,
)
BUNDLE_APPROVED = register(
    "agent_config_bundle.approved",
    "An administrator approved a bundle, or a team's change, that was held.",
    data_plane=TEXT,
    digest=TEXT,
)
BUNDLE_APPLIED = register(
    "agent_config_bundle.applied", "A data plane works with a bundle.", **_BUNDLE, state=TEXT
)
BUNDLE_REJECTED = register(
    "agent_config_bundle.rejected", "A data plane cannot take a bundle.", **_BUNDLE, message=TEXT
)
BUNDLE_UNACKNOWLEDGED = register(
    "agent_config_bundle.unacknowledged",
    "A data plane says nothing of the bundle that it was given.",
    **_BUNDLE,
)
FOLDER_LOADED = register("agent_config_folder.loaded", "The folder of documents was read.", digest=TEXT)
FOLDER_REFUSED = register(
    "agent_config_folder.refused", "The folder is not followed; what was read stays.", reason=TEXT
)
FOLDER_CONFIRMED = register(
    "agent_config_folder.confirmed", "Somebody let files go that were many.", digest=TEXT
)
CLUSTER_LOADED = register("agent_config_cluster.loaded", "The cluster's ConfigMaps were read.", digest=TEXT)
CLUSTER_REFUSED = register(
    "agent_config_cluster.refused", "The cluster is not followed; what was read stays.", reason=TEXT
)
CLUSTER_CONFIRMED = register(
    "agent_config_cluster.confirmed", "Somebody let ConfigMaps go that were many.", digest=TEXT
)
