"""Agent configurations that teams publish. For the reasons, see docs/adr/0020 to 0022 and 0025."""

from collections.abc import Callable

from controlplane.settings import environment as env

__all__ = [
    "AGENT_CONFIGS_ACK_SECONDS",
    "AGENT_CONFIGS_ALLOWED_HOSTS",
    "AGENT_CONFIGS_APPROVAL_REQUIRED",
    "AGENT_CONFIGS_AT_ONCE",
    "AGENT_CONFIGS_BUNDLES_KEPT",
    "AGENT_CONFIGS_BUNDLE_BYTES",
    "AGENT_CONFIGS_DEFAULT_TIMEOUT_SECONDS",
    "AGENT_CONFIGS_DOCUMENTS_PER_TEAM",
    "AGENT_CONFIGS_DOCUMENT_BYTES",
    "AGENT_CONFIGS_FLAG_CONFLICTS",
    "AGENT_CONFIGS_FLAPS",
    "AGENT_CONFIGS_FLAP_WINDOW_SECONDS",
    "AGENT_CONFIGS_GENERATIONS_KEPT",
    "AGENT_CONFIGS_GRACE_SECONDS",
    "AGENT_CONFIGS_LAST_GOOD_SECONDS",
    "AGENT_CONFIGS_LIST_TIMEOUT_SECONDS",
    "AGENT_CONFIGS_LONGEST_LIST_TIMEOUT_SECONDS",
    "AGENT_CONFIGS_LONGEST_TIMEOUT_SECONDS",
    "AGENT_CONFIGS_MAX_AGENTS",
    "AGENT_CONFIGS_MAX_FILES",
    "AGENT_CONFIGS_MAX_TASK_TYPES",
    "AGENT_CONFIGS_MISTAKES_TOLD",
    "AGENT_CONFIGS_MODE",
    "AGENT_CONFIGS_NAMESPACED_IDS",
    "AGENT_CONFIGS_QUARANTINE_SECONDS",
    "AGENT_CONFIGS_RECOMPUTE_SECONDS",
    "AGENT_CONFIGS_REMOVAL_COUNT",
    "AGENT_CONFIGS_REMOVAL_PERCENT",
    "AGENT_CONFIGS_RESERVED_TASK_TYPES",
    "AGENT_CONFIGS_SERVICE_CONFIG_BYTES",
    "AGENT_CONFIGS_SIGNING_KEYS",
    "AGENT_CONFIGS_SIMULTANEOUS",
    "AGENT_CONFIGS_STAGE_PERCENT",
    "AGENT_CONFIGS_STRICT_ENDPOINTS",
    "AGENT_CONFIGS_TEAM_AGENTS",
    "AGENT_CONFIGS_TEAM_BYTES",
    "AGENT_CONFIGS_TEAM_CHANGES",
    "AGENT_CONFIGS_TEAM_CHANGES_WINDOW_SECONDS",
    "AGENT_CONFIGS_TLS_REQUIRED",
    "CONFIG_POLL_CONNECTIONS",
]


def one_of(*words: str) -> Callable[[str], str]:
    def parse(raw: str) -> str:
        if raw not in words:
            raise ValueError(f"{raw!r} is not one of {', '.join(words)}")
        return raw

    return parse


AGENT_CONFIGS_MODE = env.parsed(
    "AGENT_CONFIGS_MODE",
    one_of("open", "granted"),
    default="granted",
    meaning="`granted`: a team serves only task types that an administrator granted to it. `open`: a task"
    " type belongs to the first team that claims it. `make up` uses `open`.",
)
AGENT_CONFIGS_DOCUMENT_BYTES = env.integer(
    "AGENT_CONFIGS_DOCUMENT_BYTES",
    default=1 << 20,
    minimum=1,
    meaning="Maximum size in bytes of a published document, and of each of its files.",
)
AGENT_CONFIGS_MAX_AGENTS = env.integer(
    "AGENT_CONFIGS_MAX_AGENTS", default=100, minimum=1, meaning="Maximum number of agents in one document."
)
AGENT_CONFIGS_MAX_TASK_TYPES = env.integer(
    "AGENT_CONFIGS_MAX_TASK_TYPES",
    default=1000,
    minimum=1,
    meaning="Maximum number of task types, and of defaults, in one document.",
)
AGENT_CONFIGS_SERVICE_CONFIG_BYTES = env.integer(
    "AGENT_CONFIGS_SERVICE_CONFIG_BYTES",
    default=16 << 10,
    minimum=1,
    meaning="Maximum size in bytes of an agent's `defaultServiceConfig`.",
)
AGENT_CONFIGS_LONGEST_TIMEOUT_SECONDS = env.integer(
    "AGENT_CONFIGS_LONGEST_TIMEOUT_SECONDS",
    default=300,
    minimum=1,
    meaning="Longest timeout in seconds that a document may set.",
)
AGENT_CONFIGS_LONGEST_LIST_TIMEOUT_SECONDS = env.integer(
    "AGENT_CONFIGS_LONGEST_LIST_TIMEOUT_SECONDS",
    default=5,
    minimum=1,
    meaning="Longest ListAgents timeout in seconds that a document may set. At startup, propeller waits"
    " for each agent in turn.",
)
AGENT_CONFIGS_TLS_REQUIRED = env.boolean(
    "AGENT_CONFIGS_TLS_REQUIRED", default=False, meaning="Reject agents with `insecure: true`."
)
AGENT_CONFIGS_ALLOWED_HOSTS = env.names(
    "AGENT_CONFIGS_ALLOWED_HOSTS",
    default="",
    meaning="Hosts, addresses and networks, comma-separated, that agents may use although they would"
    " otherwise be rejected.",
)
AGENT_CONFIGS_RESERVED_TASK_TYPES = env.names(
    "AGENT_CONFIGS_RESERVED_TASK_TYPES",
    default="",
    meaning="Task types that no team can claim, comma-separated, in addition to those of Flyte's own"
    " plugins.",
)
AGENT_CONFIGS_DOCUMENTS_PER_TEAM = env.integer(
    "AGENT_CONFIGS_DOCUMENTS_PER_TEAM",
    default=200,
    minimum=1,
    meaning="Maximum number of documents per team, so that no team can slow down recomputation for everyone.",
)
AGENT_CONFIGS_TEAM_BYTES = env.integer(
    "AGENT_CONFIGS_TEAM_BYTES",
    default=1 << 20,
    minimum=1,
    meaning="Maximum total size in bytes of one team's documents, and of the team's part of a data plane's"
    " configuration.",
)
AGENT_CONFIGS_TEAM_AGENTS = env.integer(
    "AGENT_CONFIGS_TEAM_AGENTS",
    default=200,
    minimum=1,
    meaning="Maximum number of agents per team in a data plane's configuration. A change that adds more is"
    " held.",
)
AGENT_CONFIGS_TEAM_CHANGES = env.integer(
    "AGENT_CONFIGS_TEAM_CHANGES",
    default=300,
    minimum=1,
    meaning="Publications and deletions per team within AGENT_CONFIGS_TEAM_CHANGES_WINDOW_SECONDS; further"
    " ones get 429.",
)
AGENT_CONFIGS_TEAM_CHANGES_WINDOW_SECONDS = env.integer(
    "AGENT_CONFIGS_TEAM_CHANGES_WINDOW_SECONDS",
    default=600,
    minimum=1,
    meaning="Window in seconds for AGENT_CONFIGS_TEAM_CHANGES.",
)
AGENT_CONFIGS_NAMESPACED_IDS = env.boolean(
    "AGENT_CONFIGS_NAMESPACED_IDS",
    default=False,
    meaning="Write agent ids as `<team>--<id>`, so that ids of different teams cannot collide.",
)
AGENT_CONFIGS_STRICT_ENDPOINTS = env.boolean(
    "AGENT_CONFIGS_STRICT_ENDPOINTS", default=False, meaning="Allow each endpoint for one team only."
)
AGENT_CONFIGS_FLAG_CONFLICTS = env.boolean(
    "AGENT_CONFIGS_FLAG_CONFLICTS", default=False, meaning="Mark rejected claims as waiting for review."
)
AGENT_CONFIGS_SIMULTANEOUS = env.parsed(
    "AGENT_CONFIGS_SIMULTANEOUS",
    one_of("oldest_wins", "reject_both"),
    default="oldest_wins",
    meaning="How to resolve competing claims of which none was ever served: `oldest_wins` or `reject_both`.",
)
AGENT_CONFIGS_BUNDLE_BYTES = env.integer(
    "AGENT_CONFIGS_BUNDLE_BYTES",
    default=8 << 20,
    minimum=1,
    meaning="Maximum size in bytes of a data plane's configuration. When it is full, changes of teams that"
    " use more than an equal share wait; other teams can still publish.",
)
AGENT_CONFIGS_REMOVAL_PERCENT = env.integer(
    "AGENT_CONFIGS_REMOVAL_PERCENT",
    default=50,
    meaning="Percentage of a team's agents or task types; a change that removes more waits for approval.",
)
AGENT_CONFIGS_REMOVAL_COUNT = env.integer(
    "AGENT_CONFIGS_REMOVAL_COUNT",
    default=3,
    minimum=1,
    meaning="Removed agents or task types below which a change needs no approval, whatever their percentage.",
)
AGENT_CONFIGS_APPROVAL_REQUIRED = env.boolean(
    "AGENT_CONFIGS_APPROVAL_REQUIRED",
    default=False,
    meaning="Require approval for every change of a bundle.",
)
AGENT_CONFIGS_GRACE_SECONDS = env.integer(
    "AGENT_CONFIGS_GRACE_SECONDS",
    default=24 * 3600,
    meaning="Seconds for which a claim keeps its age after its document was deleted.",
)
AGENT_CONFIGS_LAST_GOOD_SECONDS = env.integer(
    "AGENT_CONFIGS_LAST_GOOD_SECONDS",
    default=0,
    meaning="Seconds for which an older generation is served while the latest is invalid. 0: no limit.",
)
AGENT_CONFIGS_FLAPS = env.integer(
    "AGENT_CONFIGS_FLAPS",
    default=10,
    minimum=1,
    meaning="Changes of a document within AGENT_CONFIGS_FLAP_WINDOW_SECONDS above which its last served"
    " generation is kept for a while.",
)
AGENT_CONFIGS_FLAP_WINDOW_SECONDS = env.integer(
    "AGENT_CONFIGS_FLAP_WINDOW_SECONDS",
    default=600,
    minimum=1,
    meaning="Window in seconds for AGENT_CONFIGS_FLAPS.",
)
AGENT_CONFIGS_QUARANTINE_SECONDS = env.integer(
    "AGENT_CONFIGS_QUARANTINE_SECONDS",
    default=3600,
    minimum=1,
    meaning="Seconds for which a document that changes too often is kept as it was.",
)
AGENT_CONFIGS_ACK_SECONDS = env.integer(
    "AGENT_CONFIGS_ACK_SECONDS",
    default=300,
    minimum=1,
    meaning="Seconds without an acknowledgement of a new bundle after which an event reports the data plane.",
)
AGENT_CONFIGS_AT_ONCE = env.integer(
    "AGENT_CONFIGS_AT_ONCE",
    default=200,
    meaning="Number of documents up to which a publication takes effect before its response is sent; above"
    " it, within AGENT_CONFIGS_RECOMPUTE_SECONDS.",
)
AGENT_CONFIGS_RECOMPUTE_SECONDS = env.integer(
    "AGENT_CONFIGS_RECOMPUTE_SECONDS",
    default=3,
    minimum=1,
    meaning="Seconds between two checks for changed documents, in the database and in the folder.",
)
AGENT_CONFIGS_BUNDLES_KEPT = env.integer(
    "AGENT_CONFIGS_BUNDLES_KEPT",
    default=200,
    minimum=2,
    meaning="Number of revisions to keep of each data plane's configuration.",
)
AGENT_CONFIGS_SIGNING_KEYS = env.names(
    "AGENT_CONFIGS_SIGNING_KEYS",
    default="",
    meaning="Files with Ed25519 private keys (PEM), comma-separated. Every key signs each served"
    " configuration and each snapshot of effective values, so that keys can be rotated. Empty: they are not"
    " signed.",
)
AGENT_CONFIGS_MAX_FILES = env.integer(
    "AGENT_CONFIGS_MAX_FILES",
    default=100,
    minimum=1,
    meaning="Maximum number of files in one ConfigMap.",
)
AGENT_CONFIGS_MISTAKES_TOLD = env.integer(
    "AGENT_CONFIGS_MISTAKES_TOLD",
    default=100,
    minimum=1,
    meaning="Maximum number of errors, and of warnings, reported for one document; the rest are only"
    " counted.",
)
AGENT_CONFIGS_DEFAULT_TIMEOUT_SECONDS = env.integer(
    "AGENT_CONFIGS_DEFAULT_TIMEOUT_SECONDS",
    default=10,
    minimum=1,
    meaning="Timeout in seconds for calls of an agent whose document sets none.",
)
AGENT_CONFIGS_LIST_TIMEOUT_SECONDS = env.integer(
    "AGENT_CONFIGS_LIST_TIMEOUT_SECONDS",
    default=3,
    minimum=1,
    meaning="Timeout in seconds for ListAgents where the document sets none. At startup, propeller waits"
    " for each agent in turn.",
)
AGENT_CONFIGS_GENERATIONS_KEPT = env.integer(
    "AGENT_CONFIGS_GENERATIONS_KEPT",
    default=20,
    minimum=2,
    meaning="Number of generations to keep of each document, so that an older one can be served while the"
    " latest causes errors.",
)
AGENT_CONFIGS_STAGE_PERCENT = env.integer(
    "AGENT_CONFIGS_STAGE_PERCENT",
    default=100,
    minimum=1,
    meaning="Percentage of the data planes in a stage that must work with a change before it continues to"
    " the next stage.",
)
CONFIG_POLL_CONNECTIONS = env.integer(
    "CONFIG_POLL_CONNECTIONS",
    default=1,
    meaning="Connections of each web worker that check configuration polls of data planes in batches. 0:"
    " Django handles each poll on its own.",
)
