"""`agent-configs`: what teams publish, and what data planes are given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from cpctl import completion, files
from cpctl.agent_kinds import AGENT_CONFIG
from cpctl.commands import bundles, change_options, claims, get, options, teams_and_grants
from cpctl.errors import UsageError
from cpctl.exits import Exit
from cpctl.output import Format, document, say, signed
from cpctl.paths import YAML, segment
from cpctl.session import SESSION

agent_configs = typer.Typer(help="Publish, preview, conflicts, bundles.", no_args_is_help=True)
agent_configs.add_typer(bundles.bundle, name="bundle")
agent_configs.add_typer(bundles.planes, name="planes")
agent_configs.add_typer(teams_and_grants.teams, name="teams")
agent_configs.add_typer(teams_and_grants.grants, name="grants")
agent_configs.add_typer(teams_and_grants.sources, name="sources")
agent_configs.command("conflicts")(claims.list_conflicts)
agent_configs.command("claims")(claims.list_claims)
agent_configs.command("hand-over")(claims.hand_over)
agent_configs.command("release")(claims.release)
Document = Annotated[
    str,
    typer.Argument(metavar="TEAM/NAME", help="Such as acme/sensors.", autocompletion=completion.documents),
]
File = Annotated[str, typer.Option("-f", "--file", help="File, or - for standard input.")]
Source = Annotated[str, typer.Option(help="Where it is from, such as folder.")]


@agent_configs.command("list")
def list_documents(
    *,
    team: options.Team = "",
    source: Annotated[str, typer.Option(help="Only from there, such as api.")] = "",
    invalid: Annotated[bool, typer.Option("--invalid", help="Only those with mistakes.")] = False,
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
    """Print a document as it was published; with -o json all that is known of it.

    \b
    cpctl agent-configs get acme/sensors
    """
    found = SESSION.api().get(_path(name)).json()
    say(*(document(found, output) if output.is_whole else [found["text"].rstrip("\n")]))


@agent_configs.command()
def validate(name: Document, *, file: File, output: options.Output = Format.TABLE) -> None:
    """Check a document, and change nothing. Exits 2 if it is wrong.

    \b
    cpctl agent-configs validate acme/sensors -f agents.yaml
    """
    found = _previewed(name, _text(file))["documents"][0]
    _show(found, output, _mistakes(found, file))
    if found["verdict"] == "invalid":
        raise typer.Exit(Exit.USAGE)


@agent_configs.command()
def preview(name: Document, *, file: File, output: options.Output = Format.TABLE) -> None:
    """Show what publishing would do in each data plane. Exits 1 if something changes, 2 if it is wrong.

    \b
    cpctl agent-configs preview acme/sensors -f agents.yaml
    """
    found = _previewed(name, _text(file))
    own = found["documents"][0]
    _show(found, output, [*_mistakes(own, file), *_outcomes(found)])
    if own["verdict"] == "invalid":
        raise typer.Exit(Exit.USAGE)
    if any(one["affected"] for one in found["data_planes"]):
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
    """Publish a document over the one that stands. Shows what it would do, and asks.

    \b
    cpctl agent-configs publish acme/sensors -f agents.yaml --yes
    """
    text = _text(file)
    terms = options.Decision(message, dry_run, yes)
    headers = change_options.over_what_stands(_path(name))
    for line in _outcomes(_previewed(name, text)):
        SESSION.tell(line)
    terms.ask(f"Publish {name}?")
    answer = SESSION.api().send("PUT", _path(name), text, query=terms.query(), headers=headers, media=YAML)
    get.show(AGENT_CONFIG, [answer.json()], output)


@agent_configs.command()
def delete(
    name: Document,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Take a document away. Its names become free.

    \b
    cpctl agent-configs delete acme/sensors
    """
    api = SESSION.api()
    terms = options.Decision(message, dry_run, yes)
    etag = api.get(_path(name)).etag
    for line in _outcomes(_previewed(name, None)):
        SESSION.tell(line)
    terms.ask(f"Delete {name}?")
    api.send("DELETE", _path(name), query=terms.query(), headers={"If-Match": etag})
    terms.tell(f"{name} is deleted.")


@agent_configs.command()
def quarantine(
    name: Document,
    *,
    source: Source = "api",
    message: Annotated[str, typer.Option("-m", "--message", help="Why. Its authors read it.")] = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Serve a document no more, until it is readmitted.

    \b
    cpctl agent-configs quarantine acme/sensors -m "It overloads the poll"
    """
    team, document = _named(name)
    body = {"team": team, "name": document, "source": source, **({"message": message} if message else {})}
    teams_and_grants.stop(body, "quarantine", options.Decision(message, dry_run, yes))


@agent_configs.command()
def readmit(
    name: Document,
    *,
    source: Source = "api",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Serve a document again that was quarantined.

    \b
    cpctl agent-configs readmit acme/sensors
    """
    team, document = _named(name)
    body = {"team": team, "name": document, "source": source}
    teams_and_grants.stop(body, "readmit", options.Decision(message, dry_run, yes))


@agent_configs.command()
def status(name: Document, *, output: options.Output = Format.TABLE) -> None:
    """Show how a document stands in every data plane.

    \b
    cpctl agent-configs status acme/sensors
    """
    found = SESSION.api().get(_path(name)).json()
    _show(found, output, _standing(found))


def _named(said: str) -> tuple[str, str]:
    team, _, name = said.partition("/")
    if not team or not name:
        raise UsageError(f"{said!r} is not TEAM/NAME.", hint="cpctl agent-configs list")
    return team, name


def _path(said: str) -> str:
    team, name = _named(said)
    return f"agent-configs/{segment(team)}/{segment(name)}"


def _text(file: str) -> str:
    found = files.texts([file])
    if len(found) > 1:
        raise UsageError(f"{file} holds {len(found)} documents; each has a name of its own: say which file.")
    return found[0][1]


def _previewed(said: str, text: str | None) -> Any:
    team, name = _named(said)
    body = {"items": [{"team": team, "name": name, "text": text}]}
    return SESSION.api().post("agent-configs:preview", body).json()


def _show(value: Any, how: Format, lines: list[str]) -> None:
    say(*(document(value, how) if how.is_whole else lines))


def _mistakes(found: Any, file: str) -> list[str]:
    told = [
        f"{file}:{one['line']}:{one['column']}: {one['code']}: {one['message']} {one['hint']}".rstrip()
        for one in found["diagnostics"]
    ]
    return [*told, f"{found['team']}/{found['name']}: {found['verdict']}"]


def _outcomes(found: Any) -> list[str]:
    """What each data plane would be given."""
    told = []
    for plane in found["data_planes"]:
        told.append(f"{plane['data_plane']}: {'changes' if plane['affected'] else 'stays'}")
        told += [f"  {signed(line, SESSION.paint())}" for line in plane["changes"]]
        told += [f"  held: {one['message']}" for one in plane["held"]]
        told += [f"  {line}" for one in plane["documents"] for line in _lost(one["conflicts"])]
    return told


def _standing(found: Any) -> list[str]:
    told = list(_mistakes({**found, "verdict": "valid" if found["valid"] else "invalid"}, found["name"]))
    for plane in found["data_planes"]:
        told.append(plane["data_plane"])
        told += [
            f"  {one['type']}: {one['status']} {one['reason']} {one['message']}".rstrip()
            for one in plane["conditions"]
        ]
        told += [f"  {line}" for line in _lost(plane["conflicts"])]
    return told


def _lost(conflicts: list[Any]) -> Iterator[str]:
    return (f"lost {one['kind']} {one['name']}: {one['message']}" for one in conflicts)
