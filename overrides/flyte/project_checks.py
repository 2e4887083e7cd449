"""FlyteAdmin's checks of a project, in its order and its words. Pure."""

from __future__ import annotations

import re

from flyteidl.admin.project_pb2 import Project

from overrides.flyte.errors import invalid

_ID = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LONGEST_ID = 63
_LONGEST_NAME = 64
_LONGEST_DESCRIPTION = 300
_MOST_LABELS = 16
# Kubernetes' own words (apimachinery util/validation).
_EXAMPLES = "must start and end with an alphanumeric character (e.g. {}, regex used for validation is '{}')"
_NO_LABEL = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and " + (
    _EXAMPLES.format("'my-name',  or '123-abc'", "[a-z0-9]([-a-z0-9]*[a-z0-9])?")
)
_NO_SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
    + _EXAMPLES.format("'example.com'", r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
)
_NO_NAME = "must consist of alphanumeric characters, '-', '_' or '.', and " + (
    _EXAMPLES.format("'MyName',  or 'my.name',  or '123-abc'", "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
)
_NO_KEY = (
    "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and "
    + _EXAMPLES.format("'MyName',  or 'my.name',  or '123-abc'", "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
    + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
)
_NO_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and "
    + _EXAMPLES.format(
        "'MyValue',  or 'my_value',  or '12345'", "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
    )
)
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME = re.compile("([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_LONGEST_SUBDOMAIN = 253


def check_project(project: Project, *, name_required: bool) -> None:
    """Raise FlyteError with the first thing that is wrong."""
    if name_required and not project.name:
        raise invalid("missing project_name")
    if not project.id:
        raise invalid("missing project_id")
    _check_labels(project)
    if wrong := _wrong_text(project.id, _ID, _NO_LABEL, _LONGEST_ID):
        raise invalid(f"invalid project id [{project.id}]: [{wrong}]")
    # In bytes, as Go counts.
    if len(project.name.encode()) > _LONGEST_NAME:
        raise invalid(f"project_name cannot exceed {_LONGEST_NAME} characters")
    if len(project.description.encode()) > _LONGEST_DESCRIPTION:
        raise invalid(f"project_description cannot exceed {_LONGEST_DESCRIPTION} characters")
    _check_state_and_domains(project)


def _check_labels(project: Project) -> None:
    labels = project.labels.values
    if len(labels) > _MOST_LABELS:
        raise invalid(f"labels map cannot exceed {_MOST_LABELS} entries")
    for name, value in labels.items():
        if wrong := _wrong_key(name):
            raise invalid(f"invalid label key [{name}]: [{wrong}]")
        if wrong := "" if not value else _wrong_text(value, _NAME, _NO_VALUE, _LONGEST_ID):
            raise invalid(f"invalid label value [{value}]: [{wrong}]")


def _wrong_key(key: str) -> str:
    """All that IsQualifiedName says, as Go prints a list of texts."""
    *prefixes, name = key.split("/")
    if len(prefixes) > 1:
        return _NO_KEY
    found = []
    if prefixes == [""]:
        found.append("prefix part must be non-empty")
    elif prefixes:
        wrong = _wrong_texts(prefixes[0], _SUBDOMAIN, _NO_SUBDOMAIN, _LONGEST_SUBDOMAIN)
        found += [f"prefix part {one}" for one in wrong]
    if not name:
        found.append("name part must be non-empty")
    found += [f"name part {one}" for one in _wrong_texts(name, _NAME, _NO_NAME, _LONGEST_ID)]
    return " ".join(found)


def _wrong_text(text: str, pattern: re.Pattern[str], message: str, longest: int) -> str:
    return " ".join(_wrong_texts(text, pattern, message, longest))


def _wrong_texts(text: str, pattern: re.Pattern[str], message: str, longest: int) -> list[str]:
    too_long = [f"must be no more than {longest} characters"] if len(text.encode()) > longest else []
    return [*too_long, *([] if pattern.fullmatch(text) else [message])]


def _check_state_and_domains(project: Project) -> None:
    if project.domains:
        raise invalid(
            "Domains are currently only set system wide. "
            "Please retry without domains included in your request."
        )
    if project.state not in Project.ProjectState.values():
        raise invalid(f"invalid project state [{project.state}]")
