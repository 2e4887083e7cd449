"""Agent configurations that teams publish: docs/adr/0020 to 0022 and 0025 have the reasons."""

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
]


def one_of(*words: str) -> Callable[[str], str]:
    def parse(raw: str) -> str:
        if raw not in words:
            raise ValueError(f"{raw!r} is none of {', '.join(words)}")
        return raw

    return parse


AGENT_CONFIGS_MODE = env.parsed(
    "AGENT_CONFIGS_MODE",
    one_of("open", "granted"),
    default="granted",
    meaning="`granted`: a team serves only task types that an administrator granted to it. `open`: the first"
    " team that claims a task type has it; `make up` uses this.",
)
AGENT_CONFIGS_DOCUMENT_BYTES = env.integer(
    "AGENT_CONFIGS_DOCUMENT_BYTES",
    default=1 << 20,
    minimum=1,
    meaning="Bytes of a published document, and of each of its files.",
)
AGENT_CONFIGS_MAX_AGENTS = env.integer(
    "AGENT_CONFIGS_MAX_AGENTS", default=100, minimum=1, meaning="Agents in one document."
)
AGENT_CONFIGS_MAX_TASK_TYPES = env.integer(
    "AGENT_CONFIGS_MAX_TASK_TYPES",
    default=1000,
    minimum=1,
    meaning="Task types, and defaults, in one document.",
)
AGENT_CONFIGS_SERVICE_CONFIG_BYTES = env.integer(
    "AGENT_CONFIGS_SERVICE_CONFIG_BYTES",
    default=16 << 10,
    minimum=1,
    meaning="Bytes of an agent's `defaultServiceConfig`.",
)
AGENT_CONFIGS_LONGEST_TIMEOUT_SECONDS = env.integer(
    "AGENT_CONFIGS_LONGEST_TIMEOUT_SECONDS",
    default=300,
    minimum=1,
    meaning="The longest timeout that a document may set, in seconds.",
)
AGENT_CONFIGS_LONGEST_LIST_TIMEOUT_SECONDS = env.integer(
    "AGENT_CONFIGS_LONGEST_LIST_TIMEOUT_SECONDS",
    default=5,
    minimum=1,
    meaning="The longest timeout of ListAgents that a document may set, in seconds: propeller waits for each"
    " agent in turn when it starts.",
)
AGENT_CONFIGS_TLS_REQUIRED = env.boolean(
    "AGENT_CONFIGS_TLS_REQUIRED", default=False, meaning="Refuse agents with `insecure: true`."
)
AGENT_CONFIGS_ALLOWED_HOSTS = env.names(
    "AGENT_CONFIGS_ALLOWED_HOSTS",
    default="",
    meaning="Hosts, addresses and networks that agents may have although they would be refused.",
)
AGENT_CONFIGS_RESERVED_TASK_TYPES = env.names(
    "AGENT_CONFIGS_RESERVED_TASK_TYPES",
    default="",
    meaning="Task types that no team can claim, besides those of Flyte's own plugins.",
)
AGENT_CONFIGS_DOCUMENTS_PER_TEAM = env.integer(
    "AGENT_CONFIGS_DOCUMENTS_PER_TEAM",
    default=200,
    minimum=1,
    meaning="Documents of one team: no team can make the recompute slow for all.",
)
AGENT_CONFIGS_TEAM_BYTES = env.integer(
    "AGENT_CONFIGS_TEAM_BYTES",
    default=1 << 20,
    minimum=1,
    meaning="Bytes of one team's documents together, and of the team's part in a data plane's configuration.",
)
AGENT_CONFIGS_TEAM_AGENTS = env.integer(
    "AGENT_CONFIGS_TEAM_AGENTS",
    default=200,
    minimum=1,
    meaning="Agents of one team in a data plane's configuration. A change that adds more is held.",
)
AGENT_CONFIGS_TEAM_CHANGES = env.integer(
    "AGENT_CONFIGS_TEAM_CHANGES",
    default=300,
    minimum=1,
    meaning="Publications and deletions of one team within AGENT_CONFIGS_TEAM_CHANGES_WINDOW_SECONDS; more"
    " are refused with 429.",
)
AGENT_CONFIGS_TEAM_CHANGES_WINDOW_SECONDS = env.integer(
    "AGENT_CONFIGS_TEAM_CHANGES_WINDOW_SECONDS",
    default=600,
    minimum=1,
    meaning="The time within which AGENT_CONFIGS_TEAM_CHANGES are counted, in seconds.",
)
AGENT_CONFIGS_NAMESPACED_IDS = env.boolean(
    "AGENT_CONFIGS_NAMESPACED_IDS",
    default=False,
    meaning="Write agent ids as `<team>--<id>`, so that teams cannot take each other's.",
)
AGENT_CONFIGS_STRICT_ENDPOINTS = env.boolean(
    "AGENT_CONFIGS_STRICT_ENDPOINTS", default=False, meaning="Only one team can have an endpoint."
)
AGENT_CONFIGS_FLAG_CONFLICTS = env.boolean(
    "AGENT_CONFIGS_FLAG_CONFLICTS", default=False, meaning="Mark claims that lost as waiting for a review."
)
AGENT_CONFIGS_SIMULTANEOUS = env.parsed(
    "AGENT_CONFIGS_SIMULTANEOUS",
    one_of("oldest_wins", "reject_both"),
    default="oldest_wins",
    meaning="What happens to rival claims of which none was ever served.",
)
AGENT_CONFIGS_BUNDLE_BYTES = env.integer(
    "AGENT_CONFIGS_BUNDLE_BYTES",
    default=8 << 20,
    minimum=1,
    meaning="Bytes of a data plane's configuration. When it is full, changes of teams whose part is larger"
    " than an equal share wait; other teams may still publish.",
)
AGENT_CONFIGS_REMOVAL_PERCENT = env.integer(
    "AGENT_CONFIGS_REMOVAL_PERCENT",
    default=50,
    meaning="A change that removes a larger share of a team's agents or task types waits for an approval.",
)
AGENT_CONFIGS_REMOVAL_COUNT = env.integer(
    "AGENT_CONFIGS_REMOVAL_COUNT",
    default=3,
    minimum=1,
    meaning="And at least so many of them; fewer go without an approval.",
)
AGENT_CONFIGS_APPROVAL_REQUIRED = env.boolean(
    "AGENT_CONFIGS_APPROVAL_REQUIRED",
    default=False,
    meaning="Every change of a bundle waits for an approval.",
)
AGENT_CONFIGS_GRACE_SECONDS = env.integer(
    "AGENT_CONFIGS_GRACE_SECONDS",
    default=24 * 3600,
    meaning="For so long a claim keeps its age after its document went.",
)
AGENT_CONFIGS_LAST_GOOD_SECONDS = env.integer(
    "AGENT_CONFIGS_LAST_GOOD_SECONDS",
    default=0,
    meaning="For so long an old generation is served while the latest is not valid. 0: without limit.",
)
AGENT_CONFIGS_FLAPS = env.integer(
    "AGENT_CONFIGS_FLAPS",
    default=10,
    minimum=1,
    meaning="A document that changes more often within the window is kept as it was, for a while.",
)
AGENT_CONFIGS_FLAP_WINDOW_SECONDS = env.integer(
    "AGENT_CONFIGS_FLAP_WINDOW_SECONDS", default=600, minimum=1, meaning="That window."
)
AGENT_CONFIGS_QUARANTINE_SECONDS = env.integer(
    "AGENT_CONFIGS_QUARANTINE_SECONDS",
    default=3600,
    minimum=1,
    meaning="So long a document that flaps stays as it was.",
)
AGENT_CONFIGS_ACK_SECONDS = env.integer(
    "AGENT_CONFIGS_ACK_SECONDS",
    default=300,
    minimum=1,
    meaning="A data plane that says nothing of a new bundle for so long is told of by an event.",
)
AGENT_CONFIGS_AT_ONCE = env.integer(
    "AGENT_CONFIGS_AT_ONCE",
    default=200,
    meaning="Up to so many documents a publication takes effect before it is answered; above, within"
    " AGENT_CONFIGS_RECOMPUTE_SECONDS.",
)
AGENT_CONFIGS_RECOMPUTE_SECONDS = env.integer(
    "AGENT_CONFIGS_RECOMPUTE_SECONDS",
    default=3,
    minimum=1,
    meaning="How often changes of documents are looked for, and the folder is looked at.",
)
AGENT_CONFIGS_BUNDLES_KEPT = env.integer(
    "AGENT_CONFIGS_BUNDLES_KEPT",
    default=200,
    minimum=2,
    meaning="Revisions of a data plane's configuration that are kept.",
)
AGENT_CONFIGS_SIGNING_KEYS = env.names(
    "AGENT_CONFIGS_SIGNING_KEYS",
    default="",
    meaning="Files of Ed25519 private keys (PEM) with which served configurations are signed: each of them"
    " signs, so that keys can be replaced. None: nothing is signed.",
)
AGENT_CONFIGS_MAX_FILES = env.integer(
    "AGENT_CONFIGS_MAX_FILES",
    default=100,
    minimum=1,
    meaning="Files in one ConfigMap.",
)
AGENT_CONFIGS_MISTAKES_TOLD = env.integer(
    "AGENT_CONFIGS_MISTAKES_TOLD",
    default=100,
    minimum=1,
    meaning="Mistakes of one document that are told, and warnings; the others are counted.",
)
AGENT_CONFIGS_DEFAULT_TIMEOUT_SECONDS = env.integer(
    "AGENT_CONFIGS_DEFAULT_TIMEOUT_SECONDS",
    default=10,
    minimum=1,
    meaning="The timeout of an agent's calls where its document says none.",
)
AGENT_CONFIGS_LIST_TIMEOUT_SECONDS = env.integer(
    "AGENT_CONFIGS_LIST_TIMEOUT_SECONDS",
    default=3,
    minimum=1,
    meaning="The same for listing: propeller waits for it when it starts.",
)
AGENT_CONFIGS_GENERATIONS_KEPT = env.integer(
    "AGENT_CONFIGS_GENERATIONS_KEPT",
    default=20,
    minimum=2,
    meaning="Generations of a document that are kept, to serve an older one while the latest is to blame.",
)
AGENT_CONFIGS_STAGE_PERCENT = env.integer(
    "AGENT_CONFIGS_STAGE_PERCENT",
    default=100,
    minimum=1,
    meaning="A change goes on to the next stage once so many of the data planes before it work with theirs.",
)
