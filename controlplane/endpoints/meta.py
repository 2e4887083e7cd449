"""HTTP endpoint for the state of the whole installation."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.endpoints import Endpoint
from controlplane.api.fields import Query
from controlplane.identity.roles import Action
from controlplane.observability.alerting.checks import Check
from controlplane.observability.alerting.rules import Severity
from controlplane.observability.installation import read_installation

CHECK_SEVERITIES = [(severity.value, severity.value) for severity in Severity]


class CheckRead(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="As the alert of Prometheus.")
    is_good = serializers.BooleanField()
    severity = serializers.ChoiceField(CHECK_SEVERITIES, help_text="page: somebody must act now.")
    about = serializers.CharField(help_text="Which one is meant, such as a stream. Empty: there is only one.")
    value = serializers.FloatField(allow_null=True, help_text="The figure beyond its limit; null if good.")
    meaning = serializers.CharField(help_text="What it means if the check fails.")
    runbook = serializers.CharField(help_text="Page and heading on what to do.")


class MetaRead(serializers.Serializer[Any]):
    version = serializers.CharField()
    server_time = serializers.DateTimeField(help_text="The database's clock.")
    schema = serializers.DictField(
        child=serializers.CharField(), help_text="The last migration of each part of the database."
    )
    is_good = serializers.BooleanField(help_text="No check fails.")
    checks = CheckRead(many=True)


_META = OpenApiExample(
    "One stream differs",
    value={
        "version": "0.1.0",
        "server_time": "2026-11-24T02:00:00Z",
        "schema": {"registry": "0010_job_run_artifacts"},
        "is_good": False,
        "checks": [
            {
                "name": "CpJetStreamDiffers",
                "is_good": False,
                "severity": "ticket",
                "about": "DISPATCH",
                "value": 1.0,
                "meaning": "Somebody changed it by hand, or an update needs a change that NATS refuses.",
                "runbook": "docs/operations.md#cpjetstreamdiffers",
            }
        ],
    },
)


class Meta(Endpoint):
    actions = {"GET": Action.METRICS_READ}

    @extend_schema(
        operation_id="meta_get",
        summary="Get the state of the installation",
        description="Version, schema of the database, and checks: the figures of `/metrics` compared with the"
        " limits of the alerts in `deploy/prometheus`, by the server that answers. A check that fails says"
        " where to read on. Requires the role viewer at the global scope, as metrics do.",
        tags=["meta"],
        responses=MetaRead,
        examples=[_META],
    )
    def get(self, request: Request) -> Response:
        Query.parse(request)
        found = read_installation()
        return Response(
            {
                "version": found.version,
                "server_time": found.server_time,
                "schema": found.schema,
                "is_good": all(check.is_good for check in found.checks),
                "checks": [_show(check) for check in found.checks],
            }
        )


def _show(check: Check) -> dict[str, Any]:
    return {
        "name": check.name,
        "is_good": check.is_good,
        "severity": check.severity.value,
        "about": check.about,
        "value": check.value,
        "meaning": check.meaning,
        "runbook": check.runbook,
    }
