"""The commands `agent-configs`: documents that teams publish for data planes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from cpctl import completion, files
from cpctl.agent_kinds import AGENT_CONFIG
from cpctl.commands import bundles, change_options, claims, config_clusters, get, options, teams_and_grants
from cpctl.errors import UsageError
from cpctl.exits import Exit
from cpctl.output import Format, counted, document, say, signed
from cpctl.paths import YAML, segment
from cpctl.session import SESSION

agent_configs = typer.Typer(
    help="Publish and preview agent configurations, manage their bundles.", no_args_is_help=True
)
agent_configs.add_typer(bundles.bundle, name="bundle")
agent_configs.add_typer(bundles.planes, name="planes")
agent_configs.add_typer(teams_and_grants.teams, name="teams")
agent_configs.add_typer(teams_and_grants.grants, name="grants")
agent_configs.add_typer(teams_and_grants.sources, name="sources")
agent_configs.add_typer(config_clusters.clusters, name="clusters")
agent_configs.command("conflicts")(claims.list_conflicts)
agent_configs.command("claims")(claims.list_claims)
agent_configs.command("hand-over")(claims.hand_over)
agent_configs.command("release")(claims.release)
agent_configs.command("pins")(claims.list_pins)
agent_configs.command("pin")(claims.pin)
agent_configs.command("unpin")(claims.unpin)
Document = Annotated[
    str,
    typer.Argument(
        metavar="TEAM/NAME", help="Document, such as acme/sensors.", autocompletion=completion.documents
    ),
]
File = Annotated[str, typer.Option("-f", "--file", help="File, or - for standard input.")]
Source = Annotated[str, typer.Option(help="Source of the document, such as folder.")]


@agent_configs.command("list")
def list_documents(
    *,
    team: options.Team = "",
    source: Annotated[str, typer.Option(help="Filter by source, such as api.")] = "",
    invalid: Annotated[bool, typer.Option("--invalid", help="Only invalid documents.")] = False,
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """List documents.

    \b
    cpctl agent-configs list --team acme
    """
    query = {"team": team, "source": source, "valid": "false" if invalid else ""}
    get.list_of(AGENT_CONFIG, query, output, headers=not no_headers)


@agent_configs.command("get")
def get_document(name: Document, *, output: options.Output = Format.TABLE) -> None:
    """Print a document as published; with -o json, all details.

    \b
    cpctl agent-configs get acme/sensors
    """
    row = SESSION.api().get(_path(name)).json()
    say(*(document(row, output) if output.is_whole else [row["text"].rstrip("\n")]))


@agent_configs.command()
def validate(name: Document, *, file: File, output: options.Output = Format.TABLE) -> None:
    """Validate a document without publishing it. Exits with 2 if it is invalid.

    \b
    cpctl agent-configs validate acme/sensors -f agents.yaml
    """
    result = _previewed(name, _text(file))["documents"][0]
    _show(result, output, _mistakes(result, file))
    if result["verdict"] == "invalid":
        raise typer.Exit(Exit.USAGE)


@agent_configs.command()
def preview(name: Document, *, file: File, output: options.Output = Format.TABLE) -> None:
    """Show the changes in each data plane. Exits with 1 if there are changes, 2 if the document is invalid.

    \b
    cpctl agent-configs preview acme/sensors -f agents.yaml
    """
    result = _previewed(name, _text(file))
    document = result["documents"][0]
    _show(result, output, [*_mistakes(document, file), *_outcomes(result)])
    if document["verdict"] == "invalid":
        raise typer.Exit(Exit.USAGE)
    if any(plane["affected"] for plane in result["data_planes"]):
        raise typer.Exit(Exit.DIFFERS)


@agent_configs.command()
def publish(
    name: Document,
    *,
    file: File,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Publish a document, after showing its changes and asking for confirmation.

    \b
    cpctl agent-configs publish acme/sensors -f agents.yaml --yes
    """
    text = _text(file)
    change = options.ChangeOptions(message, dry_run, yes)
    headers = change_options.precondition_headers(_path(name))
    for line in _outcomes(_previewed(name, text)):
        SESSION.tell(line)
    change.ask(f"Publish {name}?")
    answer = SESSION.api().send("PUT", _path(name), text, query=change.query(), headers=headers, media=YAML)
    get.show(AGENT_CONFIG, [answer.json()], output)


@agent_configs.command()
def delete(
    name: Document,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Delete a document and free its names.

    \b
    cpctl agent-configs delete acme/sensors
    """
    api = SESSION.api()
    change = options.ChangeOptions(message, dry_run, yes)
    etag = api.get(_path(name)).etag
    for line in _outcomes(_previewed(name, None)):
        SESSION.tell(line)
    change.ask(f"Delete {name}?")
    api.send("DELETE", _path(name), query=change.query(), headers={"If-Match": etag})
    change.tell(f"{name} deleted.")


@agent_configs.command()
def quarantine(
    name: Document,
    *,
    source: Source = "api",
    message: Annotated[str, typer.Option("-m", "--message", help="Reason, shown to its authors.")] = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Stop serving a document until it is readmitted.

    \b
    cpctl agent-configs quarantine acme/sensors -m "It overloads the poll"
    """
    team, document = _named(name)
    body = {"team": team, "name": document, "source": source, **({"message": message} if message else {})}
    teams_and_grants.stop(body, "quarantine", options.ChangeOptions(message, dry_run, yes))


@agent_configs.command()
def readmit(
    name: Document,
    *,
    source: Source = "api",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Serve a quarantined document again.

    \b
    cpctl agent-configs readmit acme/sensors
    """
    team, document = _named(name)
    body = {"team": team, "name": document, "source": source}
    teams_and_grants.stop(body, "readmit", options.ChangeOptions(message, dry_run, yes))


@agent_configs.command()
def status(name: Document, *, output: options.Output = Format.TABLE) -> None:
    """Show the status of a document in each data plane.

    \b
    cpctl agent-configs status acme/sensors
    """
    row = SESSION.api().get(_path(name)).json()
    _show(row, output, _standing(row))


def _named(text: str) -> tuple[str, str]:
    team, _, name = text.partition("/")
    if not team or not name:
        raise UsageError(f"{text!r} is not TEAM/NAME.", hint="cpctl agent-configs list")
    return team, name


def _path(text: str) -> str:
    team, name = _named(text)
    return f"agent-configs/{segment(team)}/{segment(name)}"


def _text(file: str) -> str:
    texts = files.texts([file])
    if len(texts) > 1:
        raise UsageError(
            f"{file} contains {counted(len(texts), 'document')}. Specify the file of one document."
        )
    return texts[0][1]


def _previewed(name_text: str, text: str | None) -> Any:
    team, name = _named(name_text)
    body = {"items": [{"team": team, "name": name, "text": text}]}
    return SESSION.api().post("agent-configs:preview", body).json()


def _show(value: Any, how: Format, lines: list[str]) -> None:
    say(*(document(value, how) if how.is_whole else lines))


def _mistakes(result: Any, file: str) -> list[str]:
    lines = [_mistake(file, diagnostic) for diagnostic in result["diagnostics"]]
    return [*lines, f"{result['team']}/{result['name']}: {result['verdict']}"]


def _mistake(file: str, entry: Any) -> str:
    place = f"{file}:{entry['line']}:{entry['column']}"
    return f"{place}: {entry['code']}: {entry['message']} {entry['hint']}".rstrip()


def _outcomes(result: Any) -> list[str]:
    """Return the changes in each data plane."""
    lines = []
    for plane in result["data_planes"]:
        lines.append(f"{plane['data_plane']}: {'changes' if plane['affected'] else 'unchanged'}")
        lines += [f"  {signed(line, SESSION.paint())}" for line in plane["changes"]]
        lines += [f"  held: {entry['message']}" for entry in plane["held"]]
        lines += [f"  {line}" for entry in plane["documents"] for line in _lost(entry["conflicts"])]
    return lines


def _standing(row: Any) -> list[str]:
    lines = list(_mistakes({**row, "verdict": "valid" if row["valid"] else "invalid"}, row["name"]))
    for plane in row["data_planes"]:
        lines.append(plane["data_plane"])
        lines += [
            f"  {entry['type']}: {entry['status']} {entry['reason']} {entry['message']}".rstrip()
            for entry in plane["conditions"]
        ]
        lines += [f"  {line}" for line in _lost(plane["conflicts"])]
    return lines


def _lost(conflicts: list[Any]) -> Iterator[str]:
    return (f"lost {conflict['kind']} {conflict['name']}: {conflict['message']}" for conflict in conflicts)
