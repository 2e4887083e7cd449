"""Events of agents' logins at NATS."""

from controlplane.events.types import TEXT, register

_LOGIN = {"agent_id": TEXT, "name": TEXT, "environment": TEXT}
NATS_LOGIN_ISSUED = register("agent.nats_login_issued", "An agent got a new password at NATS.", **_LOGIN)
NATS_LOGIN_REVOKED = register("agent.nats_login_revoked", "An agent's login at NATS was revoked.", **_LOGIN)
