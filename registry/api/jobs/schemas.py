"""API schemas of jobs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rest_framework import serializers

from controlplane.api.fields import Instant, StrictSerializer, Text
from controlplane.errors import FieldError
from registry.api.plugins.schemas import SEVERITIES
from registry.jobs.run_input import InstanceType, PartError, RunInput
from registry.plugins.documents.diagnostics import Severity

INSTANCE_TYPES = [(kind.value, kind.value) for kind in InstanceType]
# Of all files together: rendering takes time in proportion to them.
MOST_CHARACTERS = 256 * 1024
_MOST_ENTRIES = 200


def _texts(help_text: str) -> serializers.DictField:
    return serializers.DictField(
        child=serializers.CharField(allow_blank=True, trim_whitespace=False, max_length=MOST_CHARACTERS),
        required=False,
        default=dict,
        help_text=help_text,
    )


class JobDocumentWrite(StrictSerializer):
    text = serializers.CharField(
        max_length=MOST_CHARACTERS, trim_whitespace=False, help_text="job.yaml, of version 1 or 2."
    )


class JobPreviewWrite(JobDocumentWrite):
    scheduled_at = Instant(help_text="For which the run is scheduled. The window counts from it.")
    instance_type = serializers.ChoiceField(INSTANCE_TYPES, required=False, default=InstanceType.TASK.value)
    instance_name = Text(
        required=False, max_length=220, help_text="The task or a hook of the job. Omitted: the task."
    )
    project = Text(
        required=False, allow_blank=True, default="", max_length=63, help_text="For the label `project`."
    )
    namespace = Text(
        required=False, allow_blank=True, default="", max_length=63, help_text="For the label `namespace`."
    )
    assets = _texts("The job's files by name, at most 256 KiB together.")
    config = _texts("Settings of project and namespace, as templates read them: `.proj.NAME`.")
    secret_names = serializers.ListField(
        child=Text(max_length=128),
        required=False,
        default=list,
        max_length=_MOST_ENTRIES,
        help_text="Names of the project's secrets. `<SECRET:name>` stands for the value of each.",
    )


class JobDiagnosticRead(serializers.Serializer[Any]):
    severity = serializers.ChoiceField(SEVERITIES, help_text="An error refuses the job.")
    place = serializers.CharField(
        help_text="JSON Pointer in the document, or the template, such as `task.config.TABLE`."
    )
    message = serializers.CharField()
    hint = serializers.CharField(help_text="What to do, or empty.")
    line = serializers.IntegerField(help_text="From 1, in the document or the template; 0 if unknown.")
    column = serializers.IntegerField(help_text="From 1; 0 if unknown.")


class JobValidation(serializers.Serializer[Any]):
    valid = serializers.BooleanField()
    name = serializers.CharField(help_text="The job's name, or empty if the document is invalid.")
    diagnostics = JobDiagnosticRead(many=True, help_text="Errors first.")


class JobFileRead(serializers.Serializer[Any]):
    text = serializers.CharField()
    sensitive = serializers.BooleanField(help_text="It reads a secret.")


class JobUnsubstitutedRead(serializers.Serializer[Any]):
    place = serializers.CharField(help_text="The template, such as `task.config.TABLE`.")
    names = serializers.ListField(child=serializers.CharField(), help_text="What is missing.")


class JobPreviewRead(JobValidation):
    envs = serializers.DictField(child=serializers.CharField(), help_text="The executor's environment.")
    secrets = serializers.DictField(
        child=serializers.CharField(), help_text="Variables that read a secret, with names for values."
    )
    files = serializers.DictField(child=JobFileRead())
    unsubstituted = JobUnsubstitutedRead(
        many=True, help_text="Values with `<no value>`, with which an executor does not start."
    )


def show_findings(severity: Severity, findings: Iterable[FieldError]) -> list[dict[str, Any]]:
    return [
        {
            "severity": severity.value,
            "place": finding.pointer,
            "message": finding.message,
            "hint": finding.hint,
            "line": finding.line,
            "column": finding.column,
        }
        for finding in findings
    ]


def show_part_errors(errors: Iterable[PartError]) -> list[dict[str, Any]]:
    fields = (
        FieldError(error.part, "", error.message, line=error.line, column=error.column) for error in errors
    )
    return show_findings(Severity.ERROR, fields)


def show_run_input(run_input: RunInput | None) -> dict[str, Any]:
    if run_input is None:
        return {"envs": {}, "secrets": {}, "files": {}, "unsubstituted": []}
    return {
        "envs": dict(run_input.envs),
        "secrets": dict(run_input.secrets),
        "files": {
            name: {"text": file.text, "sensitive": file.is_sensitive}
            for name, file in run_input.files.items()
        },
        "unsubstituted": [
            {"place": value.part, "names": list(value.names)} for value in run_input.unsubstituted
        ],
    }
