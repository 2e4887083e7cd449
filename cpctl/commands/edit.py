"""The command `edit`: edit a scope's document in an editor, and merge concurrent changes."""

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
from cpctl.portable.conflicts import retry_on_conflict
from cpctl.session import SESSION

if TYPE_CHECKING:
    from cpctl.client import Api, Response


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
    override_freeze: options.OverrideFreeze = "",
    approval_override: options.ApprovalOverride = "",
    message: options.Message = "",
    ticket: options.Ticket = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Edit a scope's document in $VISUAL or $EDITOR. Concurrent changes are merged.

    \b
    cpctl edit -p flytesnacks -d development -w train
    """
    command = _editor()
    scope = options.scope_of((project, domain, workflow, launch_plan))
    api = SESSION.api()
    current = api.get("overrides/document", scope, accept=YAML)
    place = _draft(current.text)
    try:
        text = _edited(command, place)
        if text != current.text:
            change = options.WriteOptions(
                message, manager, force, confirm, override_freeze, approval_override, ticket
            ).query()
            _put(api, _Edit(scope, change, current, text), dry_run=dry_run, yes=yes)
    except BaseException:
        SESSION.tell(f"Your edit is saved in {place}.")
        raise
    place.unlink()
    if text == current.text:
        raise Declined("Nothing was changed.")


@dataclass(frozen=True, slots=True)
class _Edit:
    """An edit of the document that was read."""

    scope: Mapping[str, str]
    change: Mapping[str, Any]
    current: Response
    text: str


def _put(api: Api, edited: _Edit, *, dry_run: bool, yes: bool) -> None:
    """Save the edit. Merge it with concurrent changes, unless they conflict."""

    def attempt(edit: _Edit) -> None:
        _send(api, edit, dry_run=True)
        show_difference(edit.current.text, edit.text)
        if dry_run:
            return None
        SESSION.confirm("Save this?", yes=yes)
        _send(api, edit, dry_run=False)
        return SESSION.tell("Saved.")

    def read_again(edit: _Edit) -> _Edit:
        theirs = api.get("overrides/document", edit.scope, accept=YAML)
        both = replace(edit, current=theirs, text=_merged(edit.current.text, edit.text, theirs.text))
        SESSION.tell("The document has changed in the meantime. Both changes are merged.")
        return both

    retry_on_conflict(edited, attempt, read_again, is_conflict=_is_version_conflict)


def _is_version_conflict(error: Exception) -> bool:
    return isinstance(error, ApiError) and error.code == "version_mismatch"


def _send(api: Api, edited: _Edit, *, dry_run: bool) -> None:
    query = {**edited.scope, **edited.change, "dry_run": dry_run}
    headers = {"If-Match": edited.current.etag}
    api.send("PUT", "overrides/document", edited.text, query=query, headers=headers, media=YAML)


def show_difference(before: str, after: str) -> None:
    """Print the difference between two versions of a document."""
    import difflib

    paint = SESSION.paint()
    # The status is reported by the server and is not part of the edit.
    was, now = (text.partition("\nstatus:")[0].splitlines() for text in (before, after))
    for line in list(difflib.unified_diff(was, now, lineterm="", n=2))[2:]:
        style = {"+": "green", "-": "red"}.get(line[:1])
        say(paint(style, line) if style else line)


def _merged(base: str, own: str, theirs: str) -> str:
    import yaml

    was, edited, now = (yaml.safe_load(text) for text in (base, own, theirs))
    # The status is reported by the server and is not part of an edit.
    for version in (was, edited, now):
        version.pop("status", None)
    merged, conflicts = three_way(was, edited, now)
    if conflicts:
        raise EditConflict(
            f"Your edit conflicts with a concurrent change of {', '.join(conflicts)}. Edit the document"
            " again.",
            hint="cpctl edit",
        )
    return as_yaml(merged) + "\n"


def _editor() -> list[str]:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise UsageError("Neither VISUAL nor EDITOR is set.", hint="EDITOR=vi cpctl edit …")
    import shlex

    return shlex.split(editor)


def _draft(text: str) -> Path:
    import tempfile

    handle, name = tempfile.mkstemp(prefix="cpctl-", suffix=".yaml")
    with os.fdopen(handle, "w") as file:
        file.write(text)
    return Path(name)


def _edited(command: list[str], place: Path) -> str:
    """Return the edited text, checked to be YAML. Raises UsageError."""
    import subprocess

    import yaml

    sys.stdout.flush()
    try:
        ended = subprocess.run([*command, str(place)], check=False).returncode
    except OSError as error:
        raise UsageError(f"Cannot start the editor: {error}.") from error
    if ended != 0:
        raise UsageError(f"The editor exited with {ended}. Nothing was changed.")
    text = place.read_text()
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UsageError(f"The edited text is not valid YAML: {error}.") from error
    if not isinstance(document, dict):
        raise UsageError("The edited text is not a document.")
    return text
