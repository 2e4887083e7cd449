"""Logins of agents at NATS."""

from controlplane.messaging.logins.nkeys import AccountKey, check_seed, dcm_password
from controlplane.settings import environment as env

__all__ = ["NATS_AGENT_URL", "NATS_DCM_PASSWORD", "NATS_ISSUER_SEED", "NATS_LOGIN_SECONDS"]

NATS_ISSUER_SEED = env.parsed(
    "NATS_ISSUER_SEED",
    check_seed,
    default="",
    meaning="Secret with which logins of agents at NATS are signed: the seed of an nkey of an account, or 64"
    " hexadecimal digits. `manage.py nats_config` writes the matching configuration of NATS."
    " Without it, agents have no logins at NATS of their own, and fetch their requests by HTTPS.",
)
NATS_AGENT_URL = env.text(
    "NATS_AGENT_URL",
    default="",
    meaning="Address of NATS for agents, as nats://host:port or tls://host:port. Default: that of NATS_URL.",
)
NATS_DCM_PASSWORD = env.text(
    "NATS_DCM_PASSWORD",
    default="",
    meaning="Password of the user `dcm` at NATS, which unmodified DCM agents share. `manage.py nats_config`"
    " writes it only if DCM_AGENTS is on. Default: derived from NATS_ISSUER_SEED.",
)
if NATS_ISSUER_SEED and not NATS_DCM_PASSWORD:
    NATS_DCM_PASSWORD = dcm_password(AccountKey(NATS_ISSUER_SEED))
NATS_LOGIN_SECONDS = env.integer(
    "NATS_LOGIN_SECONDS",
    default=3600,
    minimum=60,
    meaning="Seconds after which NATS disconnects an agent at the latest, so that it logs in again.",
)
