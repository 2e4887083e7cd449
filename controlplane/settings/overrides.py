"""Where overrides come from, and what guards their changes."""

from controlplane.settings import environment as env

__all__ = [
    "CONFIRM_ABOVE_SCOPES",
    "OVERRIDES_PATH",
    "OVERRIDES_RELOAD_SECONDS",
    "OVERRIDES_SOURCE",
    "PLATFORM_DEFAULTS_PATH",
]


def _source(raw: str) -> str:
    if raw not in ("db", "file"):
        raise ValueError(f"{raw!r} is neither db nor file")
    return raw


OVERRIDES_SOURCE = env.parsed(
    "OVERRIDES_SOURCE",
    _source,
    default="db",
    meaning="`db`: overrides are changed through the API. `file`: the folder OVERRIDES_PATH is the truth.",
)
OVERRIDES_PATH = env.text(
    "OVERRIDES_PATH",
    default="",
    meaning="With OVERRIDES_SOURCE=file: the folder with the documents, the same for every process.",
)
OVERRIDES_RELOAD_SECONDS = env.integer(
    "OVERRIDES_RELOAD_SECONDS",
    default=5,
    minimum=1,
    meaning="With OVERRIDES_SOURCE=file: how often the folder is looked at.",
)
PLATFORM_DEFAULTS_PATH = env.text(
    "PLATFORM_DEFAULTS_PATH",
    default="",
    meaning="A YAML file with the platform's own defaults, below everything that is set. Read at start.",
)
CONFIRM_ABOVE_SCOPES = env.integer(
    "CONFIRM_ABOVE_SCOPES",
    default=1000,
    meaning="A change of what applies at more scopes than this wants `confirm=<count>`. 0 means never.",
)
