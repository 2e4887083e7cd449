"""Whether a command is about the server's plugins or about those of this machine. Pure."""

from __future__ import annotations

from enum import StrEnum

from cpctl.errors import UsageError

MODE_VARIABLE = "CPCTL_PLUGIN_MODE"


class Mode(StrEnum):
    """Server: a release for everybody who uses the server. Client: a folder of this machine."""

    SERVER = "server"
    CLIENT = "client"


def chosen_mode(option: str, variable: str, context: str) -> Mode:
    """Return the mode of the option, else of the variable, else of the context. Raises UsageError."""
    text = option or variable or context
    if text in set(Mode):
        return Mode(text)
    if text:
        raise UsageError(f"Unknown mode {text!r}. Use server or client.", hint="add --mode server")
    raise UsageError(
        "The mode is missing: `server` releases plugins for all users of the server, and `client` installs"
        " the server's plugins on this machine.",
        hint=f"add --mode server or --mode client, or set {MODE_VARIABLE}",
    )


def check_options(
    mode: Mode, *, server_only: dict[str, bool], client_only: dict[str, bool], command: str
) -> None:
    """Refuse options of the other mode; the values say whether an option was given."""
    if mode is Mode.CLIENT and server_only.get("--config"):
        raise UsageError(
            "-c does not work in client mode: this machine gets exactly the plugins that are active on the"
            " server, so that both have the same ones.",
            hint="cpctl plugins install -c FILE --mode server, then cpctl plugins install --mode client",
        )
    other = Mode.SERVER if mode is Mode.CLIENT else Mode.CLIENT
    wrong = client_only if mode is Mode.SERVER else server_only
    if given := [name for name, is_given in wrong.items() if is_given]:
        raise UsageError(
            f"{given[0]} does not work in {mode} mode.", hint=f"cpctl plugins {command} --mode {other}"
        )
