"""Dispatch of resource requests: timers, streams, and how service types are spoken of."""

from controlplane.settings import environment as env
from registry.dispatch.lifecycle.service_types import parse_profiles

__all__ = [
    "DEAD_LETTER_DAYS",
    "DISPATCH_DELETION_ALARM_SECONDS",
    "DISPATCH_DELETION_SECONDS",
    "DISPATCH_DELETION_TRIES",
    "DISPATCH_GIVE_UP_SECONDS",
    "DISPATCH_MAX_QUEUED_REQUESTS",
    "DISPATCH_PENDING_SECONDS",
    "DISPATCH_PENDING_TRIES",
    "DISPATCH_POLICY_URL",
    "DISPATCH_PROVISIONING_ALARM_SECONDS",
    "DISPATCH_QUEUED_SECONDS",
    "DISPATCH_SERVICE_TYPES",
    "DISPATCH_STATUS_KEPT_SECONDS",
    "DISPATCH_TOMBSTONE_DAYS",
    "FAILPOINT",
    "RELAY_PORT",
]

DISPATCH_PENDING_SECONDS = env.integer(
    "DISPATCH_PENDING_SECONDS",
    default=60,
    minimum=1,
    meaning="Seconds without an answer of the agent after which a resource request is sent again.",
)
DISPATCH_PENDING_TRIES = env.integer(
    "DISPATCH_PENDING_TRIES",
    default=3,
    minimum=1,
    meaning="How often a request is sent again to the same agent before another one is chosen.",
)
DISPATCH_QUEUED_SECONDS = env.integer(
    "DISPATCH_QUEUED_SECONDS",
    default=300,
    minimum=1,
    meaning="Seconds for which an agent may hold a request for its provider before another agent is chosen.",
)
DISPATCH_PROVISIONING_ALARM_SECONDS = env.integer(
    "DISPATCH_PROVISIONING_ALARM_SECONDS",
    default=900,
    minimum=1,
    meaning="Seconds without a provider's status after which an event is recorded. Nothing else happens.",
)
DISPATCH_DELETION_SECONDS = env.integer(
    "DISPATCH_DELETION_SECONDS",
    default=60,
    minimum=1,
    meaning="Seconds without an answer after which a deletion is sent to the agent again.",
)
DISPATCH_DELETION_TRIES = env.integer(
    "DISPATCH_DELETION_TRIES",
    default=10,
    minimum=1,
    meaning="How often a deletion is sent before the resource's state becomes deletion_failed.",
)
DISPATCH_DELETION_ALARM_SECONDS = env.integer(
    "DISPATCH_DELETION_ALARM_SECONDS",
    default=900,
    minimum=1,
    meaning="Seconds after which an event says that an accepted deletion is not completed.",
)
DISPATCH_GIVE_UP_SECONDS = env.integer(
    "DISPATCH_GIVE_UP_SECONDS",
    default=86400,
    minimum=1,
    meaning="Seconds after which an accepted deletion that is not completed is given up, and recorded so.",
)
DISPATCH_TOMBSTONE_DAYS = env.integer(
    "DISPATCH_TOMBSTONE_DAYS",
    default=30,
    minimum=1,
    meaning="Days for which the record of a deleted resource can be read; then it is removed.",
)
DEAD_LETTER_DAYS = env.integer(
    "DEAD_LETTER_DAYS",
    default=90,
    minimum=1,
    meaning="Days for which a dead letter is kept; then it is removed, even if nobody has settled it.",
)
DISPATCH_SERVICE_TYPES = env.parsed(
    "DISPATCH_SERVICE_TYPES",
    parse_profiles,
    default="{}",
    meaning="What service types need, as JSON by type: `statuses` maps more statuses of providers to"
    " progressing, live, failed or gone; `id_pointer` is the JSON pointer in the spec where the resource's id"
    ' is put; `envelope` is "bare", or "spec" if providers expect {"spec": ...}.',
)
DISPATCH_POLICY_URL = env.text(
    "DISPATCH_POLICY_URL",
    default="",
    meaning="URL of a placement policy in the style of OPA's data API, such as"
    " http://opa:8181/v1/data/placement. While it gives no valid answer within a second, nothing is placed."
    " Empty: no policy.",
)
DISPATCH_MAX_QUEUED_REQUESTS = env.integer(
    "DISPATCH_MAX_QUEUED_REQUESTS",
    default=10_000,
    minimum=1,
    meaning="Messages that NATS keeps for one agent. Further ones wait in the outbox, and are dead letters"
    " after 8 attempts.",
)
DISPATCH_STATUS_KEPT_SECONDS = env.integer(
    "DISPATCH_STATUS_KEPT_SECONDS",
    default=3 * 86400,
    minimum=60,
    maximum=14 * 86400,
    meaning="Seconds for which NATS keeps the statuses of providers, and its own advisories. At most 14 days:"
    " after that time, a repeated message would not be recognized.",
)
RELAY_PORT = env.integer(
    "RELAY_PORT",
    default=0,
    meaning="Port on which manage.py relay serves /livez and /metrics. 0: none.",
)
FAILPOINT = env.text(
    "FAILPOINT",
    default="",
    meaning="For tests: where the relay ends as after a crash, such as published:3. Never set it otherwise.",
)
