from typing import Any

from django.core.management.base import BaseCommand

from controlplane.api.problem_types import EXPLANATIONS
from controlplane.endpoints.problem_pages import describe

_INTRODUCTION = """\
# Error catalogue

Written by `manage.py error_reference` from `controlplane/api/problem_types.py`; a test keeps it up to date.

Every error is a problem document (RFC 9457): `type`, `title`, `status`, `code`, `detail`, `errors`,
`request_id`. Branch on `code`; it is stable. `type` is the path of a page with the same text as below, which
every installation serves without a token: `GET /problems/<code>` for one, `GET /problems` for all, as JSON
or, for browsers, HTML. [API conventions](api-conventions.md#errors) explains the other fields.

FlyteAdmin's paths answer in Flyte's error format instead, and `/api/v1alpha1/agents` in DCM's.

| Code | Status | Title |
|---|---|---|
"""
_SERVER_ERROR = 500


class Command(BaseCommand):
    help = "Print docs/errors.md: every error code, what it means and what to do next."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        entries = [describe(code) for code in sorted(EXPLANATIONS)]
        rows = "".join(_row(entry) for entry in entries)
        sections = "".join(_section(entry) for entry in entries)
        self.stdout.write(_INTRODUCTION + rows + sections, ending="")


def _row(entry: dict[str, Any]) -> str:
    code = entry["code"]
    return f"| [`{code}`](#{code}) | {entry['status']} | {entry['title']} |\n"


def _section(entry: dict[str, Any]) -> str:
    blame = "server" if entry["status"] >= _SERVER_ERROR else "client"
    return (
        f"\n## {entry['code']}\n\n"
        f"**{entry['status']} {entry['title']}** · {blame} error · `{entry['type']}`\n\n"
        f"**Meaning:** {entry['meaning']}\n\n"
        f"**Next step:** {entry['next_step']}\n"
    )
