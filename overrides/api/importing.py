"""HTTP endpoint for imports from flytectl's attribute files or a running FlyteAdmin."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, actor_of, caller_of, mutation
from controlplane.api.fields import Flag, StrictSerializer, Text, parse_body
from controlplane.errors import FieldError, InvalidRequest
from controlplane.formats.counts import counted
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.api import examples
from overrides.api.plan_schemas import PlanRead, show_plan
from overrides.api.schemas import FreezeOverrideQuery
from overrides.api.write_options import consent_from, freeze_override_from
from overrides.editing.apply import ApplyOptions
from overrides.importing.apply import apply_findings, missing_names
from overrides.importing.flyteadmin import read_flyteadmin
from overrides.importing.flytectl import KINDS, read_files
from overrides.importing.report import ImportFindings, ImportIssue

FLYTECTL_KINDS = [(kind, kind) for kind in KINDS]


class FlyteAdminWrite(StrictSerializer):
    url = Text(max_length=2000, help_text="FlyteAdmin's URL, such as https://flyte.example.com")
    token = Text(required=False, default="", allow_blank=True, max_length=8000, help_text="Bearer token.")


class OverridesImport(StrictSerializer):
    """Either `flytectl_files` or `flyteadmin`."""

    flytectl_files = serializers.DictField(
        child=Text(lines=True, max_length=1024 * 1024),
        required=False,
        help_text="File contents by file name.",
    )
    kind = serializers.ChoiceField(
        choices=FLYTECTL_KINDS,
        required=False,
        help_text="Resource type of all files, if their keys do not determine it.",
    )
    flyteadmin = FlyteAdminWrite(required=False)
    manager = Text(
        required=False, default="import", max_length=63, help_text="Manager of the imported values."
    )
    create_projects = Flag(
        required=False, default=False, help_text="Create projects and domains that are not registered."
    )
    force = Flag(required=False, default=False, help_text="Take over values of other managers.")
    prune = Flag(required=False, default=False, help_text="Remove values that the manager no longer states.")


class SkippedEntry(serializers.Serializer[Any]):
    place = serializers.CharField()
    line = serializers.IntegerField()
    column = serializers.IntegerField()
    reason = serializers.CharField()


class ImportRead(serializers.Serializer[Any]):
    plan = PlanRead()
    skipped = SkippedEntry(many=True, help_text="Entries that were skipped because they have no effect.")


class ImportOverrides(Endpoint):
    actions = {"POST": Action.OVERRIDE_WRITE}
    problems = {
        "POST": (
            errors.UnknownProject,
            errors.UnknownDomain,
            errors.ChangeFrozen,
            errors.ApprovalRequired,
        )
    }
    takes_bundles = True

    @extend_schema(
        operation_id="overrides_import",
        summary="Import overrides from flytectl files or FlyteAdmin",
        description=(
            "All or nothing: a file or row that cannot be read is an error. `dry_run=true` returns the "
            "report and the plan only. With `prune`, changes that affect many scopes or remove many "
            "overrides need confirmation. FlyteAdmin's address must be public, or in a network that the "
            "operator allows."
        ),
        tags=["overrides documents"],
        parameters=[FreezeOverrideQuery],
        request=OverridesImport,
        responses=ImportRead,
        examples=[examples.IMPORT, examples.IMPORTED],
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = FreezeOverrideQuery.parse(request)
        body = parse_body(OverridesImport, request)
        # An import can name any scope, so it needs the permission at the global scope.
        caller_of(request).require(Action.OVERRIDE_WRITE, Scope())
        if body["force"]:
            caller_of(request).require(Action.OVERRIDE_FORCE, Scope())
        findings = _read(body)
        _refuse_problems(findings.problems)
        caller_of(request).require_recent_login_for(len(findings.statements))
        if any(missing_names(findings)):
            caller_of(request).require(Action.PROJECT_WRITE, Scope())
        result = apply_findings(
            findings,
            options=replace(
                _options(body, query),
                freeze_override=freeze_override_from(request, query),
                consent=consent_from(request, query),
            ),
            create_missing=body["create_projects"],
            actor=actor_of(request, query["change_message"]),
        )
        skipped = [SkippedEntry(entry).data for entry in findings.skipped]
        plan = show_plan(result.plan, caller_of(request), result.installation)
        return Response({"plan": plan, "skipped": skipped})


def _options(body: dict[str, Any], query: dict[str, Any]) -> ApplyOptions:
    """Return apply options; imports that remove nothing need no confirmation."""
    return ApplyOptions(
        body["manager"],
        force=body["force"],
        prune=body["prune"],
        confirm=query.get("confirm", ""),
        asks=body["prune"] and not query["dry_run"],
        heeds_freezes=not query["dry_run"],
        heeds_approvals=not query["dry_run"],
    )


def _read(body: dict[str, Any]) -> ImportFindings:
    if ("flytectl_files" in body) == ("flyteadmin" in body):
        message = "Send either flytectl_files or flyteadmin."
        raise InvalidRequest(message, errors=[FieldError("", "required", message)])
    if "flyteadmin" in body:
        return read_flyteadmin(body["flyteadmin"]["url"], token=body["flyteadmin"]["token"])
    return read_files(body["flytectl_files"], kind=body.get("kind", ""))


def _refuse_problems(problems: list[ImportIssue]) -> None:
    if problems:
        errors = [
            FieldError(
                "",
                "cannot_be_imported",
                f"{problem.place}: {problem.reason}",
                line=problem.line,
                column=problem.column,
            )
            for problem in problems
        ]
        raise InvalidRequest(
            f"The import has {counted(len(problems), 'error')}. First: {errors[0].message}",
            errors=errors[:200],
        )
