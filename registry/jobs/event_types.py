"""Events of jobs, their variables, secrets and runs."""

from controlplane.events.audiences import declare_audience
from controlplane.events.types import INTEGER, TEXT, register
from controlplane.identity.roles import Action

for _kind in ("job", "job_variables", "job_secret", "job_run"):
    declare_audience(_kind, Action.JOB_READ)
JOB_CHANGED = register("job.changed", "A job was created or changed.", name=TEXT, version=INTEGER)
JOB_DELETED = register("job.deleted", "A job was deleted.", name=TEXT)
VARIABLES_CHANGED = register(
    "job_variables.changed", "Variables of a project or namespace were changed.", namespace=TEXT
)
SECRET_CHANGED = register(
    "job_secret.changed", "A secret of a project or namespace was written.", namespace=TEXT, name=TEXT
)
SECRET_DELETED = register(
    "job_secret.deleted", "A secret of a project or namespace was deleted.", namespace=TEXT, name=TEXT
)
RUN_NAMED = register(
    "job_run.named", "A run of a job got its name of the scheduler.", job=TEXT, external_id=TEXT
)
RUN_PINNED = register(
    "job_run.pinned",
    "A run read its first input, and keeps this release of the plugin.",
    job=TEXT,
    plugin=TEXT,
    release=TEXT,
)
RUN_CREATED = register("job_run.created", "A run of a job was created.", job=TEXT, scheduled_at=TEXT)
