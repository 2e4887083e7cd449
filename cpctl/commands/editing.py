"""`edit`: one scope's document in your editor, put back only over what you have seen."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpctl.commands import options
from cpctl.commands.applying import go_on
from cpctl.errors import ApiError, CpctlError, Declined, UsageError
from cpctl.exits import Exit
from cpctl.merging import three_way
from cpctl.output import Format, as_yaml
from cpctl.paths import YAML
from cpctl.session import SESSION

if TYPE_CHECKING:
    from cpctl.api import Answer, Api

_MEETINGS = 5


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
    confirm: options.Confirm = None,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Edit the document of a scope in $VISUAL or $EDITOR. Who changed it meanwhile loses nothing."""
    command = _editor()
    scope = options.scope_of((project, domain, workflow, launch_plan))
    api = SESSION.api()
    seen = api.get("overrides/document", scope, accept=YAML)
    place = _draft(seen.text)
    kept = True
    try:
        text = _edited(command, place)
        if text == seen.text:
            raise Declined("Nothing was changed.")
        query = options.Terms(message, manager, force, confirm).query(**scope)
        _put(api, query, seen, text, dry_run=dry_run, yes=yes)
        kept = False
    except Declined:
        kept = False
        raise
    finally:
        if kept:
            SESSION.tell(f"What you wrote is kept in {place}.")
        else:
            place.unlink()


def _put(api: Api, query: dict[str, Any], seen: Answer, text: str, *, dry_run: bool, yes: bool) -> None:
    """Put it back. Where somebody came first, take both changes, unless they contradict each other."""
    for _ in range(_MEETINGS):
        try:
            plan = _send(api, {**query, "dry_run": True}, seen.etag, text)
            if dry_run or not go_on(plan, "Save this?", Format.TABLE, yes=yes):
                return None
            confirmed = query if yes else {**query, "confirm": plan["affected_scopes"]}
            _send(api, confirmed, seen.etag, text)
            return SESSION.tell("Saved.")
        except ApiError as error:
            if error.code != "version_mismatch":
                raise
        theirs = api.get("overrides/document", query, accept=YAML)
        text, seen = _merged(seen.text, text, theirs.text), theirs
        SESSION.tell("Somebody changed it meanwhile. Both changes are taken.")
    raise EditConflict("It changes faster than it can be saved. Try again.")


def _send(api: Api, query: dict[str, Any], etag: str, text: str) -> Any:
    asked = {name: value for name, value in query.items() if name not in ("as_of",)}
    answer = api.send("PUT", "overrides/document", text, query=asked, headers={"If-Match": etag}, media=YAML)
    return answer.json()


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
