"""Settings of events out: CloudEvents, webhooks and their relays."""

from controlplane.delivery.schedule import STANDARD_SCHEDULE
from controlplane.settings import environment as env

__all__ = [
    "CLOUDEVENTS_SOURCE",
    "WEBHOOK_ALLOW_HTTP",
    "WEBHOOK_CONNECTIONS",
    "WEBHOOK_SCHEDULE",
    "WEBHOOK_TIMEOUT_SECONDS",
]


def _schedule(raw: str) -> tuple[int, ...]:
    seconds = tuple(int(part) for part in raw.split(",") if part.strip())
    if not seconds or min(seconds) < 0:
        raise ValueError("it needs at least one number of seconds, such as 0,5,300")
    return seconds


CLOUDEVENTS_SOURCE = env.text(
    "CLOUDEVENTS_SOURCE",
    default="",
    meaning="The `source` of CloudEvents. By default, it is made of the host of PUBLIC_URL.",
)
WEBHOOK_SCHEDULE = env.parsed(
    "WEBHOOK_SCHEDULE",
    _schedule,
    default=",".join(map(str, STANDARD_SCHEDULE)),
    meaning="Seconds before each attempt to deliver an event, comma-separated. Their number is the number of"
    " attempts.",
)
WEBHOOK_TIMEOUT_SECONDS = env.integer(
    "WEBHOOK_TIMEOUT_SECONDS", default=20, minimum=1, meaning="How long a receiver may take to answer."
)
WEBHOOK_ALLOW_HTTP = env.boolean(
    "WEBHOOK_ALLOW_HTTP",
    default=False,
    meaning="Whether webhooks may have http:// addresses, for trials. Others can read such events.",
)
WEBHOOK_CONNECTIONS = env.integer(
    "WEBHOOK_CONNECTIONS",
    default=200,
    minimum=4,
    meaning="How many requests to receivers a relay process has open at most. Half of them are kept for"
    " receivers that answer well.",
)
