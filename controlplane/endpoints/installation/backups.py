"""HTTP endpoint for reports of backups."""

from __future__ import annotations

from datetime import timedelta

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.endpoints import Endpoint, ReasonedQuery, actor_of, mutation
from controlplane.api.fields import parse_body
from controlplane.endpoints.installation import examples, schemas
from controlplane.identity.roles import Action
from controlplane.installation.backup_reports import BackupReport
from controlplane.installation.backups import report_backup


class BackupCollection(Endpoint):
    actions = {"POST": Action.BACKUP_REPORT}

    @extend_schema(
        operation_id="backups_report",
        summary="Report a finished backup",
        description="For the job that makes backups. Controlplane makes none itself: it shows the last one"
        " that was reported, and `CpBackupOld` fires when the next one is overdue.",
        tags=["meta"],
        parameters=[ReasonedQuery],
        request=schemas.BackupWrite,
        responses={201: schemas.BackupRead},
        examples=[examples.BACKUP_WRITE, examples.BACKUP],
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ReasonedQuery.parse(request)
        body = parse_body(schemas.BackupWrite, request)
        report = BackupReport(
            finished_at=body["finished_at"],
            next_within=timedelta(seconds=body["next_within_seconds"]),
            size_bytes=body["size_bytes"],
            location=body["location"],
        )
        backup = report_backup(report, actor=actor_of(request, query["change_message"]))
        return Response(schemas.show_backup(backup), status=201)
