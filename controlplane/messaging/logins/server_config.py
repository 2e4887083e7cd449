"""Accounts and users in the configuration of NATS' server. Pure.

Streams are in the account CONTROLPLANE. Agents log in to AGENTS, which imports only what they need of it.
Within one account, permissions separate nobody: a client that may only fetch its messages can have any API
of JetStream called by naming it as the subject of the response (docs/adr/0055).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

CONTROLPLANE = "CONTROLPLANE"
AGENTS = "AGENTS"
_SYSTEM = "SYS"
DCM_USER = "dcm"
_KICK = "$SYS.REQ.SERVER.*.KICK"
# The API of JetStream, acknowledgements of requests, and what agents send.
_SHARED = ("$JS.API.>", "$JS.ACK.dcm-agent-requests.>", "dcm.agents.*.responses")
# How long NATS' server waits for an answer to a login. Most clients wait no longer themselves.
LOGIN_SECONDS = 2
_STREAMS = ("dcm-agent-requests", "dcm-agent-responses", "dcm-status", "controlplane-advisories", "cp-events")
_CONSUMER_CALLS = ("CREATE", "DURABLE.CREATE", "INFO", "MSG.NEXT")
# They create streams and consumers themselves; only ours are protected.
_DCM_PERMISSIONS = {
    "publish": {
        "allow": [
            *("dcm.agents.responses", "dcm.agents.health", "dcm.*", "*.retry", "$JS.ACK.>", "$JS.API.INFO"),
            *(f"$JS.API.STREAM.{call}.*" for call in ("CREATE", "UPDATE", "INFO")),
            *(f"$JS.API.CONSUMER.{call}.>" for call in _CONSUMER_CALLS),
        ],
        "deny": [
            *(f"$JS.API.STREAM.{call}.{name}" for call in ("CREATE", "UPDATE") for name in _STREAMS),
            # Events of all teams.
            "$JS.API.CONSUMER.CREATE.cp-events",
            *(f"$JS.API.CONSUMER.{call}.cp-events.>" for call in _CONSUMER_CALLS),
        ],
    },
    "subscribe": {"allow": ["_INBOX.>"]},
}


@dataclass(frozen=True, slots=True)
class Access:
    """Who can log in. issuer: the public key that signs logins. dcm_password: "" for no shared user."""

    user: str
    password: str
    issuer: str
    dcm_password: str = ""


def access_config(access: Access) -> dict[str, Any]:
    """Return the part of a server's configuration that says who can log in, and to which subjects."""
    own_user = {"user": access.user, "password": access.password}
    shared_user = {"user": DCM_USER, "password": access.dcm_password, "permissions": _DCM_PERMISSIONS}
    users: list[dict[str, Any]] = [own_user, *([shared_user] if access.dcm_password else [])]
    kick = {"service": {"account": _SYSTEM, "subject": _KICK}}
    return {
        "accounts": {
            CONTROLPLANE: {
                "jetstream": "enabled",
                "users": users,
                "imports": [kick],
                "exports": [_export(subject) for subject in _SHARED],
            },
            AGENTS: {
                "imports": [{"service": {"account": CONTROLPLANE, "subject": name}} for name in _SHARED]
            },
            _SYSTEM: {"exports": [{"service": _KICK, "accounts": [CONTROLPLANE]}]},
        },
        "system_account": _SYSTEM,
        "authorization": {
            "timeout": LOGIN_SECONDS,
            "auth_callout": {
                "issuer": access.issuer,
                "account": CONTROLPLANE,
                # They log in by password alone, also while the control plane is away.
                "auth_users": [user["user"] for user in users],
            },
        },
    }


def _export(subject: str) -> dict[str, Any]:
    # A request for messages has several responses.
    responses = {"response_type": "stream"} if subject.startswith("$JS.API") else {}
    return {"service": subject, "accounts": [AGENTS], **responses}
