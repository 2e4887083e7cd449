"""`edit`: one scope's document in your editor, put back only over what you have seen."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpctl.commands import options
from cpctl.errors import ApiError, CpctlError, Declined, UsageError
from cpctl.exits import Exit
from cpctl.merging import three_way
from cpctl.output import as_yaml, say
from cpctl.paths import YAML
from cpctl.portable.conflicts import over_what_was_seen
from cpctl.session import SESSION

if TYPE_CHECKING:
    from cpctl.client import Answer, Api


class EditConflict(CpctlError):
    exit = Exit.CONFLICT


def edit(
    *,
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    manager: options.Manager = "",
    force: options.Force = False,
    confirm: options.Confirm = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Edit the document of a scope in $VISUAL or $EDITOR. Who changed it meanwhile loses nothing.

    \b
    cpctl edit -p flytesnacks -d development -w train
    """
    command = _editor()
    scope = options.scope_of((project, domain, workflow, launch_plan))
    api = SESSION.api()
    seen = api.get("overrides/document", scope, accept=YAML)
    place = _draft(seen.text)
    try:
        text = _edited(command, place)
        if text != seen.text:
            terms = options.Terms(message, manager, force, confirm).query()
            _put(api, _Edit(scope, terms, seen, text), dry_run=dry_run, yes=yes)
    except BaseException:
        SESSION.tell(f"What you wrote is kept in {place}.")
        raise
    place.unlink()
    if text == seen.text:
        raise Declined("Nothing was changed.")


@dataclass(frozen=True, slots=True)
class _Edit:
    """A text that shall stand in place of one that was seen."""

    scope: Mapping[str, str]
    terms: Mapping[str, Any]
    seen: Answer
    text: str


def _put(api: Api, edited: _Edit, *, dry_run: bool, yes: bool) -> None:
    """Put it back. Where somebody came first, take both changes, unless they contradict each other."""

    def attempt(edit: _Edit) -> None:
        _send(api, edit, dry_run=True)
        show_difference(edit.seen.text, edit.text)
        if dry_run:
            return None
        SESSION.confirm("Save this?", yes=yes)
        _send(api, edit, dry_run=False)
        return SESSION.tell("Saved.")

    def look_again(edit: _Edit) -> _Edit:
        theirs = api.get("overrides/document", edit.scope, accept=YAML)
        both = replace(edit, seen=theirs, text=_merged(edit.seen.text, edit.text, theirs.text))
        SESSION.tell("Somebody changed it meanwhile. Both changes are taken.")
        return both

    over_what_was_seen(edited, attempt, look_again, too_late=_came_first)


def _came_first(error: Exception) -> bool:
    return isinstance(error, ApiError) and error.code == "version_mismatch"


def _send(api: Api, edited: _Edit, *, dry_run: bool) -> None:
    query = {**edited.scope, **edited.terms, "dry_run": dry_run}
    headers = {"If-Match": edited.seen.etag}
    api.send("PUT", "overrides/document", edited.text, query=query, headers=headers, media=YAML)


def show_difference(before: str, after: str) -> None:
    """What changes from one text of a document to the other."""
    import difflib

    paint = SESSION.paint()
    # The status is the server's report, not a part of what is put back.
    was, now = (text.partition("\nstatus:")[0].splitlines() for text in (before, after))
    for line in list(difflib.unified_diff(was, now, lineterm="", n=2))[2:]:
        style = {"+": "green", "-": "red"}.get(line[:1])
        say(paint(style, line) if style else line)


def _merged(base: str, mine: str, theirs: str) -> str:
    import yaml

    was, wanted, now = (yaml.safe_load(text) for text in (base, mine, theirs))
    # What the server reports about the document is nobody's edit.
    for one in (was, wanted, now):
        one.pop("status", None)
    merged, conflicts = three_way(was, wanted, now)
    if conflicts:
        raise EditConflict(f"Somebody else changed the same: {', '.join(conflicts)}.", hint="cpctl edit")
    return as_yaml(merged) + "\n"


def _editor() -> list[str]:
    said = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not said:
        raise UsageError("Neither VISUAL nor EDITOR is set.", hint="EDITOR=vi cpctl edit …")
    import shlex

    return shlex.split(said)


def _draft(text: str) -> Path:
    import tempfile

    handle, name = tempfile.mkstemp(prefix="cpctl-", suffix=".yaml")
    with os.fdopen(handle, "w") as file:
        file.write(text)
    return Path(name)


def _edited(command: list[str], place: Path) -> str:
    """What the editor left, readable as YAML. Raises UsageError."""
    import subprocess

    import yaml

    sys.stdout.flush()
    try:
        ended = subprocess.run([*command, str(place)], check=False).returncode
    except OSError as error:
        raise UsageError(f"The editor cannot be started: {error}.") from error
    if ended != 0:
        raise UsageError(f"The editor ended with {ended}; nothing was sent.")
    text = place.read_text()
    try:
        said = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UsageError(f"What you wrote is not YAML: {error}.") from error
    if not isinstance(said, dict):
        raise UsageError("What you wrote is no document.")
    return text
