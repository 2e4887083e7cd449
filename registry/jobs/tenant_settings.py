"""Variables and secrets of a project, or of a namespace in it. Values of secrets are read for runs alone."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction
from django.db.models.functions import Now

from controlplane.access import audit
from controlplane.access.secrets.sealing import seal, unseal
from controlplane.errors import FieldError, InvalidRequest, UnknownJobSecret
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from controlplane.preconditions import Precondition, check
from controlplane.scopes import Scope
from registry.jobs import event_types
from registry.jobs.models import NAME_LENGTH, Job, JobSecret, JobVariables
from registry.jobs.names import SETTING_RULE, is_setting_name
from registry.jobs.projects import require_project
from registry.jobs.run_input import Tenant

_MOST = 500


def variables_of(project: str, namespace: str) -> JobVariables:
    """Return the variables; those that were never written are empty, at version 0."""
    row = JobVariables.objects.filter(project=project, namespace=namespace).first()
    return row or JobVariables(project_id=project, namespace=namespace, version=0)


@transaction.atomic
def put_variables(
    project: str,
    namespace: str,
    variables: Mapping[str, str],
    *,
    precondition: Precondition | None,
    actor: Actor,
) -> JobVariables:
    """Replace the variables. Raises InvalidRequest, UnknownProject, VersionMismatch, VersionRequired."""
    _check_names(variables)
    require_project(project)
    row = variables_of(project, namespace)
    check(precondition, row.version or None)
    before = dict(row.variables)
    row.variables, row.version = dict(variables), row.version + 1
    row.changed_by, row.changed_at = actor.name, Now()
    row.save()
    row.refresh_from_db()
    audit.record(
        event_types.VARIABLES_CHANGED,
        "job_variables",
        str(row.id),
        actor=actor,
        before=before,
        after=row.variables,
        data={"namespace": namespace},
        scope=Scope(project=project),
    )
    return row


def _check_names(variables: Mapping[str, str]) -> None:
    errors = [
        FieldError(f"/variables/{name[:63]}", "invalid_value", SETTING_RULE)
        for name in variables
        if not is_setting_name(name)
    ]
    if len(variables) > _MOST:
        errors.append(FieldError("/variables", "too_many", f"At most {_MOST} variables are allowed."))
    if errors:
        raise InvalidRequest("The variables are invalid; nothing was stored.", errors=errors)


@transaction.atomic
def write_secret(project: str, namespace: str, name: str, value: str, *, actor: Actor) -> JobSecret:
    """Store a secret. Raises InvalidRequest, UnknownProject, SecretsUnavailable."""
    if not is_setting_name(name) or len(name) > NAME_LENGTH:
        raise InvalidRequest(SETTING_RULE, errors=[FieldError("/name", "invalid_value", SETTING_RULE)])
    require_project(project)
    rows = JobSecret.objects.select_for_update().filter(project=project, namespace=namespace, name=name)
    secret = rows.first() or JobSecret(project_id=project, namespace=namespace, name=name, version=0)
    secret.sealed = seal(value.encode(), secret.context)
    secret.version += 1
    secret.changed_by, secret.changed_at = actor.name, Now()
    secret.save()
    secret.refresh_from_db()
    _record(event_types.SECRET_CHANGED, secret, actor)
    return secret


@transaction.atomic
def delete_secret(project: str, namespace: str, name: str, *, actor: Actor) -> None:
    """Delete a secret. Raises UnknownJobSecret."""
    rows = JobSecret.objects.select_for_update().filter(project=project, namespace=namespace, name=name)
    secret = rows.first()
    if secret is None:
        raise UnknownJobSecret(f"There is no secret {name[:63]!r} in the project {project}.")
    _record(event_types.SECRET_DELETED, secret, actor)
    secret.delete()


def tenant_of(job: Job, *, with_secrets: bool) -> Tenant:
    """Return what templates of a job can read. with_secrets: False for their names alone."""
    settings = {
        row.namespace: row.variables
        for row in JobVariables.objects.filter(project=job.project_id, namespace__in=("", job.namespace))
    }
    # The project's first, so that those of the namespace win.
    rows = JobSecret.objects.filter(project=job.project_id, namespace__in=("", job.namespace))
    secrets = {
        row.name: unseal(row.sealed, row.context).decode() if with_secrets else ""
        for row in rows.order_by("namespace")
    }
    return Tenant(
        job.project_id,
        job.namespace,
        project_config=settings.get("", {}),
        namespace_config=settings.get(job.namespace, {}) if job.namespace else {},
        secrets=secrets,
    )


def _record(event_type: EventType, secret: JobSecret, actor: Actor) -> None:
    audit.record(
        event_type,
        "job_secret",
        str(secret.id),
        actor=actor,
        before=None,
        after=None,
        data={"namespace": secret.namespace, "name": secret.name},
        scope=Scope(project=secret.project_id),
    )
