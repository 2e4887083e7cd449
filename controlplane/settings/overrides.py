"""Overrides: their source, and the confirmation of large changes."""

from collections.abc import Callable

from controlplane.settings import environment as env

__all__ = [
    "CONFIRM_ABOVE_SCOPES",
    "OVERRIDES_FILE_URL",
    "OVERRIDES_PATH",
    "OVERRIDES_RELOAD_SECONDS",
    "OVERRIDES_SOURCE",
    "PLATFORM_DEFAULTS_PATH",
    "TICKET_URL",
]


def _source(raw: str) -> str:
    if raw not in ("db", "file"):
        raise ValueError(f"{raw!r} is neither db nor file")
    return raw


def _address_with(name: str) -> Callable[[str], str]:
    """Return a check of addresses in which a name in braces is replaced."""

    def parse(raw: str) -> str:
        if raw and (not raw.startswith(("https://", "http://")) or f"{{{name}}}" not in raw):
            raise ValueError(f"must start with https:// or http://, and contain {{{name}}}")
        return raw

    return parse


OVERRIDES_SOURCE = env.parsed(
    "OVERRIDES_SOURCE",
    _source,
    default="db",
    is_shown=True,
    meaning="`db`: overrides are changed through the API. `file`: overrides are read from the folder"
    " OVERRIDES_PATH.",
)
OVERRIDES_PATH = env.text(
    "OVERRIDES_PATH",
    default="",
    meaning="Folder with the documents if OVERRIDES_SOURCE=file. It must be the same for every process.",
)
OVERRIDES_FILE_URL = env.parsed(
    "OVERRIDES_FILE_URL",
    _address_with("file"),
    default="",
    meaning="Address of a file of OVERRIDES_PATH at your Git host, with `{file}`, `{line}` and `{commit}`, as"
    " in `https://git.example.com/config/blob/{commit}/{file}#L{line}`. The console links the place of each"
    " value to it. `{commit}` is `HEAD` if the commit is not known.",
)
TICKET_URL = env.parsed(
    "TICKET_URL",
    _address_with("ticket"),
    default="",
    meaning="Address of a ticket, with `{ticket}`, such as `https://tracker.example.com/browse/{ticket}`. The"
    " console links the tickets of changes to it.",
)
OVERRIDES_RELOAD_SECONDS = env.integer(
    "OVERRIDES_RELOAD_SECONDS",
    default=5,
    minimum=1,
    meaning="Seconds between two checks of the folder if OVERRIDES_SOURCE=file.",
)
PLATFORM_DEFAULTS_PATH = env.text(
    "PLATFORM_DEFAULTS_PATH",
    default="",
    meaning="YAML file with the platform's defaults, which apply where no override does. Read at startup.",
)
CONFIRM_ABOVE_SCOPES = env.integer(
    "CONFIRM_ABOVE_SCOPES",
    default=1000,
    meaning="Number of scopes above which a change of their effective values requires `confirm=<count>`."
    " 0: never.",
)
