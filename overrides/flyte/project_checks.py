"""FlyteAdmin's checks of a project, in its order and its words. Pure."""

from __future__ import annotations

import re

from flyteidl.admin.project_pb2 import Project

from overrides.flyte.errors import invalid
from overrides.resource_types.schemas import LABEL_VALUE, QUALIFIED_NAME

_ID = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LONGEST_ID = 63
_LONGEST_NAME = 64
_LONGEST_DESCRIPTION = 300
_MOST_LABELS = 16
# Kubernetes' own words (apimachinery util/validation).
_NO_LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_NO_KEY = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_NO_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
    "for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def check_project(project: Project, *, name_required: bool) -> None:
    """Raise FlyteError with the first thing that is wrong."""
    if name_required and not project.name:
        raise invalid("missing project_name")
    if not project.id:
        raise invalid("missing project_id")
    _check_labels(project)
    if len(project.id) > _LONGEST_ID:
        raise invalid(f"invalid project id [{project.id}]: [must be no more than {_LONGEST_ID} characters]")
    if not _ID.fullmatch(project.id):
        raise invalid(f"invalid project id [{project.id}]: [{_NO_LABEL}]")
    if len(project.name) > _LONGEST_NAME:
        raise invalid(f"project_name cannot exceed {_LONGEST_NAME} characters")
    if len(project.description) > _LONGEST_DESCRIPTION:
        raise invalid(f"project_description cannot exceed {_LONGEST_DESCRIPTION} characters")
    _check_state_and_domains(project)


def _check_labels(project: Project) -> None:
    labels = project.labels.values
    if len(labels) > _MOST_LABELS:
        raise invalid(f"labels map cannot exceed {_MOST_LABELS} entries")
    for name, value in labels.items():
        if not re.fullmatch(QUALIFIED_NAME, name):
            raise invalid(f"invalid label key [{name}]: [{_NO_KEY}]")
        if not re.fullmatch(LABEL_VALUE, value):
            raise invalid(f"invalid label value [{value}]: [{_NO_VALUE}]")


def _check_state_and_domains(project: Project) -> None:
    if project.domains:
        raise invalid(
            "Domains are currently only set system wide. "
            "Please retry without domains included in your request."
        )
    if project.state not in Project.ProjectState.values():
        raise invalid(f"invalid project state [{project.state}]")
