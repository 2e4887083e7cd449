"""The option `apply --replace`: documents that replace all overrides at their scopes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cpctl import files
from cpctl.commands import options
from cpctl.commands.edit import show_difference
from cpctl.counted_work import with_progress
from cpctl.errors import UsageError
from cpctl.output import as_yaml, counted, say
from cpctl.paths import YAML
from cpctl.scopes import scope_query, scope_text
from cpctl.session import SESSION

_PATH = "overrides/document"
_KEYS = ("project", "domain", "workflow", "launchPlan")


@dataclass(frozen=True, slots=True)
class _Put:
    """A document that replaces the one that was read."""

    scope: Mapping[str, str]
    text: str
    etag: str

    def send(self, change: options.WriteOptions, *, dry_run: bool) -> str:
        """Send the document and return the server's version of it."""
        query = {**self.scope, **change.query(dry_run=dry_run)}
        headers = {"If-Match": self.etag, "Accept": YAML}
        answer = SESSION.api().send("PUT", _PATH, self.text, query=query, headers=headers, media=YAML)
        return answer.text


def replace_documents(
    bundle: files.Bundle, change: options.WriteOptions, *, dry_run: bool, yes: bool
) -> None:
    """Replace the overrides at each document's scope. All are tested before the first is replaced."""
    puts = []
    for document in files.documents(bundle):
        scope = _scope(document)
        current = SESSION.api().get(_PATH, scope, accept=YAML)
        put = _Put(scope, as_yaml(document), current.etag)
        say(f"overrides {scope_text(scope)}")
        show_difference(current.text, put.send(change, dry_run=True))
        puts.append(put)
    if dry_run:
        return
    SESSION.confirm(f"Replace the overrides at {counted(len(puts), 'scope')}?", yes=yes)
    for put in with_progress("Replacing", puts):
        put.send(change, dry_run=False)
        SESSION.tell(f"Replaced: {scope_text(put.scope)}")


def _scope(document: Any) -> dict[str, str]:
    if not isinstance(document, dict) or document.get("kind") != "overrides":
        raise UsageError("--replace supports only documents of the kind overrides.")
    project, domain, workflow, launch_plan = (str(document.get(key) or "") for key in _KEYS)
    return scope_query(project, domain, workflow, launch_plan)
