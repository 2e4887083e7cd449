"""The project of a job, which must exist and be in use."""

from __future__ import annotations

from controlplane.errors import Conflict, UnknownProject
from overrides.models import Project, ProjectState

_IN_USE = (ProjectState.ACTIVE, ProjectState.SYSTEM_GENERATED)


def require_project(project: str) -> None:
    """Raise UnknownProject, or Conflict for an archived one. It stays locked against being removed."""
    row = Project.objects.select_for_update(of=("self",), no_key=True).filter(id=project).first()
    if row is None:
        raise UnknownProject(f"Project {project[:80]!r} does not exist.")
    if row.state not in _IN_USE:
        raise Conflict(f"Project {project} is archived. Activate it first.")
