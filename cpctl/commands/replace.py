"""`apply --replace`: documents that stand for all that is set at their scopes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cpctl import files
from cpctl.commands import options
from cpctl.commands.edit import show_difference
from cpctl.errors import UsageError
from cpctl.output import as_yaml, say
from cpctl.paths import YAML
from cpctl.scopes import scope_query, scope_text
from cpctl.session import SESSION

_PATH = "overrides/document"
_KEYS = ("project", "domain", "workflow", "launchPlan")


@dataclass(frozen=True, slots=True)
class _Put:
    """A document over the one that was seen."""

    scope: Mapping[str, str]
    text: str
    etag: str

    def send(self, terms: options.Terms, *, dry_run: bool) -> str:
        """What the server makes of it."""
        query = {**self.scope, **terms.query(dry_run=dry_run)}
        headers = {"If-Match": self.etag, "Accept": YAML}
        answer = SESSION.api().send("PUT", _PATH, self.text, query=query, headers=headers, media=YAML)
        return answer.text


def replace_documents(bundle: files.Bundle, terms: options.Terms, *, dry_run: bool, yes: bool) -> None:
    """Put each document in place of what is set at its scope. All are tried before the first is put."""
    puts = []
    for document in files.documents(bundle):
        scope = _scope(document)
        seen = SESSION.api().get(_PATH, scope, accept=YAML)
        one = _Put(scope, as_yaml(document), seen.etag)
        say(f"overrides {scope_text(scope)}")
        show_difference(seen.text, one.send(terms, dry_run=True))
        puts.append(one)
    if dry_run:
        return
    SESSION.confirm(f"Replace what is set at {len(puts)} scopes?", yes=yes)
    for one in puts:
        one.send(terms, dry_run=False)
        SESSION.tell(f"Replaced: {scope_text(one.scope)}")


def _scope(document: Any) -> dict[str, str]:
    if not isinstance(document, dict) or document.get("kind") != "overrides":
        raise UsageError("--replace takes documents of kind overrides alone.")
    project, domain, workflow, launch_plan = (str(document.get(key) or "") for key in _KEYS)
    return scope_query(project, domain, workflow, launch_plan)
