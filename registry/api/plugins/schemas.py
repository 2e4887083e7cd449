"""API schemas of plugin documents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rest_framework import serializers

from controlplane.api.fields import StrictSerializer
from registry.plugins.documents.diagnostics import Code, Diagnostic, Severity
from registry.plugins.documents.reading import MAX_BYTES

CODES = [(code.value, code.value) for code in Code]
SEVERITIES = [(severity.value, severity.value) for severity in Severity]


class PluginDocumentWrite(StrictSerializer):
    text = serializers.CharField(
        max_length=MAX_BYTES, trim_whitespace=False, help_text="The document, as YAML or JSON."
    )


class PluginDiagnosticRead(serializers.Serializer[Any]):
    code = serializers.ChoiceField(CODES)
    severity = serializers.ChoiceField(SEVERITIES, help_text="An error refuses the document.")
    path = serializers.CharField(help_text="JSON Pointer; empty for the whole document.")
    message = serializers.CharField()
    hint = serializers.CharField(help_text="What to do, or empty.")
    line = serializers.IntegerField(help_text="From 1; 0 if unknown.")
    column = serializers.IntegerField(help_text="From 1; 0 if unknown.")


class PluginConfigValidation(serializers.Serializer[Any]):
    valid = serializers.BooleanField()
    diagnostics = PluginDiagnosticRead(many=True, help_text="Errors first, at most 200.")
    omitted = serializers.IntegerField(help_text="How many diagnostics were left out.")
    document = serializers.DictField(
        allow_null=True, help_text="The configuration in its normal form, without secrets; null if invalid."
    )
    digest = serializers.CharField(help_text="SHA-256 of the normal form, or empty.")
    secrets = serializers.ListField(
        child=serializers.CharField(),
        help_text="References that stand for the secrets in the text. Validation stores nothing.",
    )


class PluginSpecValidation(serializers.Serializer[Any]):
    valid = serializers.BooleanField()
    diagnostics = PluginDiagnosticRead(many=True, help_text="Errors first, at most 200.")
    omitted = serializers.IntegerField(help_text="How many diagnostics were left out.")
    format = serializers.IntegerField(help_text="Of the document: 1 or 2, by its field `version`.")
    name = serializers.CharField(help_text="The plugin's name, or empty if the document is invalid.")
    versions = serializers.ListField(child=serializers.CharField(), help_text="The versions that it defines.")


def show_diagnostics(diagnostics: Iterable[Diagnostic]) -> list[dict[str, Any]]:
    return [
        {
            "code": one.code.value,
            "severity": one.severity.value,
            "path": one.path,
            "message": one.message,
            "hint": one.hint,
            "line": one.line,
            "column": one.column,
        }
        for one in diagnostics
    ]
