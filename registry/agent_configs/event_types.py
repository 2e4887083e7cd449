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
# Bundles and sources contain documents of all teams.
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
CONFIG_REMOVED = register("agent_config.removed", "A document was deleted.", **_DOCUMENT)
CONFIG_STATUS_CHANGED = register(
    "agent_config.status_changed",
    "A condition of a document changed in a data plane.",
    **_DOCUMENT,
    data_plane=TEXT,
    condition=TEXT,
    status=TEXT,
    reason=TEXT,
    message=TEXT,
)
CONFIG_QUARANTINED = register(
    "agent_config.quarantined",
    "A document was quarantined. An empty data plane means all data planes.",
    **_DOCUMENT,
    data_plane=TEXT,
    reason=TEXT,
    message=TEXT,
)
CONFIG_READMITTED = register(
    "agent_config.readmitted",
    "The quarantine of a document ended.",
    **_DOCUMENT,
    data_plane=TEXT,
    reason=TEXT,
)
TEAM_CHANGED = register(
    "publishing_team.changed", "A team's organisation or publishers changed.", team=TEXT, organisation=TEXT
)
_GRANT: dict[str, Any] = {"team": TEXT, "kind": TEXT, "pattern": TEXT}
GRANT_GIVEN = register("agent_config_grant.given", "A grant was created for a team.", **_GRANT)
GRANT_WITHDRAWN = register("agent_config_grant.withdrawn", "A grant was deleted.", **_GRANT)
_CLAIM: dict[str, Any] = {"kind": TEXT, "name": TEXT}
CLAIM_RELEASED = register(
    "agent_config_claim.released",
    "A team released a name, which it keeps until another team claims it.",
    team=TEXT,
    **_CLAIM,
)
CLAIM_PINNED = register(
    "agent_config_claim.pinned",
    "An administrator pinned a name to a team, until a time (an RFC 3339 time) or until it is unpinned.",
    team=TEXT,
    until=TEXT,
    **_CLAIM,
)
CLAIM_UNPINNED = register(
    "agent_config_claim.unpinned", "The pin of a name to a team ended early.", team=TEXT, **_CLAIM
)
CLAIM_TRANSFERRED = register(
    "agent_config_claim.transferred",
    "A name was transferred to another team.",
    from_team=TEXT,
    to_team=TEXT,
    **_CLAIM,
)
PLANE_REGISTERED = register("data_plane.registered", "A data plane was created.", data_plane=TEXT)
PLANE_CHANGED = register("data_plane.changed", "The spec of a data plane changed.", data_plane=TEXT)
PLANE_REMOVED = register("data_plane.removed", "A data plane was deleted.", data_plane=TEXT)
BUNDLE_ACTIVATED = register(
    "agent_config_bundle.activated", "A new bundle became active in a data plane.", **_BUNDLE
)
# Alerts: they need attention.
BUNDLE_HELD = register(
    "agent_config_bundle.held",
    "A gate holds a bundle; the last good one stays active.",
    data_plane=TEXT,
    digest=TEXT,
    gate=TEXT,
    message=TEXT,
)
PART_HELD = register(
    "agent_config_part.held",
    "A gate holds a team's change in a data plane; the team's last part stays active.",
    data_plane=TEXT,
    team=TEXT,
    digest=TEXT,
    gate=TEXT,
    message=TEXT,
)
BUNDLE_APPROVED = register(
    "agent_config_bundle.approved",
    "An administrator approved a held bundle or team change.",
    data_plane=TEXT,
    digest=TEXT,
)
BUNDLE_APPLIED = register(
    "agent_config_bundle.applied", "A data plane applied a bundle.", **_BUNDLE, state=TEXT
)
BUNDLE_REJECTED = register(
    "agent_config_bundle.rejected", "A data plane rejected a bundle.", **_BUNDLE, message=TEXT
)
BUNDLE_UNACKNOWLEDGED = register(
    "agent_config_bundle.unacknowledged",
    "A data plane has not acknowledged its active bundle in time.",
    **_BUNDLE,
)
FOLDER_LOADED = register("agent_config_folder.loaded", "The folder of documents was loaded.", digest=TEXT)
FOLDER_REFUSED = register(
    "agent_config_folder.refused",
    "The folder cannot be read or a removal needs confirmation; its documents stay.",
    reason=TEXT,
)
FOLDER_CONFIRMED = register(
    "agent_config_folder.confirmed", "The removal of many files was confirmed.", digest=TEXT
)
CLUSTER_LOADED = register("agent_config_cluster.loaded", "The cluster's ConfigMaps were loaded.", digest=TEXT)
CLUSTER_REFUSED = register(
    "agent_config_cluster.refused",
    "The cluster cannot be read or a removal needs confirmation; its documents stay.",
    reason=TEXT,
)
CLUSTER_CONFIRMED = register(
    "agent_config_cluster.confirmed", "The removal of many ConfigMaps was confirmed.", digest=TEXT
)
CLUSTER_REGISTERED = register(
    "agent_config_cluster.registered", "A cluster was registered, whose collector reports.", cluster=TEXT
)
CLUSTER_CHANGED = register(
    "agent_config_cluster.changed", "The registration of a cluster changed.", cluster=TEXT
)
CLUSTER_REMOVED = register(
    "agent_config_cluster.removed",
    "The registration of a cluster was deleted, with the cluster's documents.",
    cluster=TEXT,
    documents=INTEGER,
)
