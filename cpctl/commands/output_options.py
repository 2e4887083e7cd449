"""How commands show answers: `-o`, and beside it `--jq`."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperOption

from cpctl.errors import UsageError
from cpctl.output import FORMATS, Format

_KEY = "cpctl.jq"
_JSONPATH = "jsonpath="
# kubectl has them. As the name of a file they would be a surprise.
_OF_KUBECTL = ("jsonpath-as-json=", "jsonpath-file=", "go-template=", "custom-columns=")


def how(text: Any) -> Format:
    """Raises UsageError for what is no format."""
    output = how_or_file(text)
    if output.file:
        raise _unknown(text)
    return output


def how_or_file(text: Any) -> Format:
    if isinstance(text, Format):
        return text
    if text.startswith(_JSONPATH):
        from cpctl.jsonpath_template import jsonpath_template

        return Format("jsonpath", jsonpath_template(text.removeprefix(_JSONPATH)))
    if text.startswith(_OF_KUBECTL):
        raise _unknown(text)
    return FORMATS.get(text) or Format(text)


def _unknown(text: str) -> UsageError:
    return UsageError(
        f"There is no output {text!r}. Known: {', '.join(FORMATS)}, jsonpath=TEMPLATE; or --jq."
    )


def _chosen(ctx: typer.Context, output: Format) -> Format:
    """What `--jq` picks goes before what `-o` is by itself."""
    picked: Format | None = ctx.meta.get(_KEY)
    if picked and (output.file or output.pick):
        raise UsageError(f"Use either --jq or {'a file' if output.file else '-o jsonpath'}.")
    return picked or output


def _formats(incomplete: str) -> list[str]:
    return [name for name in (*FORMATS, _JSONPATH) if name.startswith(incomplete)]


_named: dict[str, Any] = {
    "callback": _chosen,
    "metavar": "|".join((*FORMATS, f"{_JSONPATH}TEMPLATE")),
    "autocompletion": _formats,
}
Output = Annotated[Format, typer.Option("-o", "--output", parser=how, help="How to show it.", **_named)]
OutputOrFile = Annotated[
    Format,
    typer.Option(
        "-o", "--output", parser=how_or_file, help="How to show it; or a file, for overrides.", **_named
    ),
]


def with_jq(command: Any) -> Any:
    """The command, and all below it, with `--jq` wherever an answer is shown."""
    for below in getattr(command, "commands", {}).values():
        with_jq(below)
    if any(getattr(option.type, "func", None) in (how, how_or_file) for option in command.params):
        command.params.append(_jq_option())
    return command


def _jq_option() -> TyperOption:
    # Eager: it is read before -o.
    return TyperOption(
        param_decls=["--jq"],
        metavar="EXPRESSION",
        help="Show only what this expression of jq finds, such as '.items[].name'.",
        callback=_keep,
        is_eager=True,
        expose_value=False,
    )


def _keep(ctx: typer.Context, param: Any, program: str | None) -> None:
    if program is None:
        return
    from cpctl.jq_filter import jq_filter

    ctx.meta[_KEY] = Format("jq", jq_filter(program))
