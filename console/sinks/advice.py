"""What the state of a sink means, and what to do next. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Advice:
    """meaning: what happened. next_step: what an operator can do; empty if nothing is to be done."""

    meaning: str
    next_step: str = ""


_RESUME = "It then gets the events that it has missed, in order."
_BY_REASON = {
    "person": Advice("A person paused the sink. The event log keeps its events.", f"Resume it. {_RESUME}"),
    "overflow": Advice(
        "More than 100,000 deliveries waited, or one waited for more than 24 hours without an attempt.",
        f"Check that the receiver is fast enough, or narrow the filter. Then resume the sink. {_RESUME}",
    ),
    "creator_disabled": Advice(
        "Its creator is not active any more. A sink gets what its creator may read.",
        "Activate the creator and resume the sink, or create a sink under another principal.",
    ),
    "gone": Advice(
        "The receiver answered with 410 Gone: it wants no more events.",
        "Delete the sink, or edit its URL, send a test event, and resume the sink.",
    ),
    "topic_missing": Advice(
        "The topic of the sink does not exist.",
        f"Create the topic, or edit the settings. Then resume the sink. {_RESUME}",
    ),
    "failing": Advice(
        "No delivery succeeded for 5 days.",
        f"Correct the receiver, send a test event, and resume the sink. {_RESUME}",
    ),
}
_NEXT = "Correct the cause, send a test event, and resume the sink."


def advice(state: str, reason: str, failures: int, *, attempts: int, unsuccessful: int) -> Advice:
    """Return what an operator needs to know.

    failures: attempts that failed since the last success. attempts, unsuccessful: of the last deliveries,
    those that there were, and those without a success.
    """
    if state != "active":
        return _BY_REASON.get(reason, Advice(f"The sink is {state}: {reason or 'no reason'}.", _NEXT))
    if not attempts:
        return Advice("No event was sent so far.")
    if not failures and unsuccessful:
        return Advice(
            f"The last attempt succeeded. Without success: {unsuccessful} of the last {attempts} deliveries.",
            "Look at their attempts below.",
        )
    if not failures:
        return Advice("The last attempt succeeded.")
    return Advice(
        "The last attempt failed." if failures == 1 else f"The last {failures} attempts failed.",
        "Look at the last error. Attempts are repeated for about three days; a sink without a success for"
        " 5 days is disabled.",
    )
