"""How commands show answers: `-o`, and beside it `--jq` and `--template`."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperOption

from cpctl.errors import UsageError
from cpctl.output import FORMATS, Format

_KEY = "cpctl.picked"
_LANGUAGES = {
    "jq": "Show only what this expression of jq finds, such as '.items[].name'.",
    "template": "Fill this in, such as '{{range .items}}{{.name}} {{end}}'.",
}


def how(said: Any) -> Format:
    """Raises UsageError for what is no format."""
    found = how_or_file(said)
    if found.file:
        known = ", ".join([*FORMATS, "jsonpath=EXPRESSION"])
        raise UsageError(f"There is no output {said!r}. Known: {known}.")
    return found


def how_or_file(said: Any) -> Format:
    if isinstance(said, Format):
        return said
    if said.startswith("jsonpath="):
        return _picked("jsonpath", said.removeprefix("jsonpath="))
    return FORMATS.get(said) or Format(said)


def _chosen(ctx: typer.Context, said: Format) -> Format:
    """What `--jq` or `--template` pick goes before what `-o` is by itself."""
    picked: Format | None = ctx.meta.get(_KEY)
    if picked and (said.pick or said.file):
        raise UsageError("Say one of -o jsonpath=, --jq, --template and a file.")
    return picked or said


def _formats(incomplete: str) -> list[str]:
    return [name for name in [*FORMATS, "jsonpath="] if name.startswith(incomplete)]


_SHOWN = "table|wide|json|yaml|name|csv|jsonpath=…"
_named: dict[str, Any] = {"callback": _chosen, "metavar": _SHOWN, "autocompletion": _formats}
Output = Annotated[Format, typer.Option("-o", "--output", parser=how, help="How to show it.", **_named)]
OutputOrFile = Annotated[
    Format,
    typer.Option(
        "-o", "--output", parser=how_or_file, help="How to show it; or a file, for overrides.", **_named
    ),
]


def with_languages(command: Any) -> Any:
    """The command, and all below it, with `--jq` and `--template` wherever an answer is shown."""
    for below in getattr(command, "commands", {}).values():
        with_languages(below)
    if any(getattr(one.type, "func", None) in (how, how_or_file) for one in command.params):
        command.params += [_option(language, told) for language, told in _LANGUAGES.items()]
    return command


def _option(language: str, told: str) -> TyperOption:
    def keep(ctx: typer.Context, param: Any, said: str | None) -> None:
        if said is None:
            return
        if _KEY in ctx.meta:
            raise UsageError("Say one of -o jsonpath=, --jq and --template.")
        ctx.meta[_KEY] = _picked(language, said)

    # Eager: it is read before -o.
    return TyperOption(
        param_decls=[f"--{language}"],
        metavar="EXPRESSION",
        help=told,
        callback=keep,
        is_eager=True,
        expose_value=False,
    )


def _picked(language: str, said: str) -> Format:
    from cpctl.selectors.select import pick_by

    return Format(language, pick_by(language, said))
