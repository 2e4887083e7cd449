"""FlyteAdmin's checks of a project, in its order and with its texts. Pure."""

from __future__ import annotations

import re

from flyteidl.admin.project_pb2 import Project

from overrides.flyte.errors import invalid

_ID = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_MAX_ID_LENGTH = 63
_MAX_NAME_LENGTH = 64
_MAX_DESCRIPTION_LENGTH = 300
_MAX_LABELS = 16
# Kubernetes' own texts (apimachinery util/validation).
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
_MAX_SUBDOMAIN_LENGTH = 253


def check_project(project: Project, *, name_required: bool) -> None:
    """Raise FlyteError with the first error."""
    if name_required and not project.name:
        raise invalid("missing project_name")
    if not project.id:
        raise invalid("missing project_id")
    _check_labels(project)
    if errors := _joined_errors(project.id, _ID, _NO_LABEL, _MAX_ID_LENGTH):
        raise invalid(f"invalid project id [{project.id}]: [{errors}]")
    # In bytes, as Go counts.
    if len(project.name.encode()) > _MAX_NAME_LENGTH:
        raise invalid(f"project_name cannot exceed {_MAX_NAME_LENGTH} characters")
    if len(project.description.encode()) > _MAX_DESCRIPTION_LENGTH:
        raise invalid(f"project_description cannot exceed {_MAX_DESCRIPTION_LENGTH} characters")
    _check_state_and_domains(project)


def _check_labels(project: Project) -> None:
    labels = project.labels.values
    if len(labels) > _MAX_LABELS:
        raise invalid(f"labels map cannot exceed {_MAX_LABELS} entries")
    for name, value in labels.items():
        if errors := _key_errors(name):
            raise invalid(f"invalid label key [{name}]: [{errors}]")
        if errors := "" if not value else _joined_errors(value, _NAME, _NO_VALUE, _MAX_ID_LENGTH):
            raise invalid(f"invalid label value [{value}]: [{errors}]")


def _key_errors(key: str) -> str:
    """Return all errors of IsQualifiedName, as Go prints a list of texts."""
    *prefixes, name = key.split("/")
    if len(prefixes) > 1:
        return _NO_KEY
    errors = []
    if prefixes == [""]:
        errors.append("prefix part must be non-empty")
    elif prefixes:
        prefix_errors = _text_errors(prefixes[0], _SUBDOMAIN, _NO_SUBDOMAIN, _MAX_SUBDOMAIN_LENGTH)
        errors += [f"prefix part {error}" for error in prefix_errors]
    if not name:
        errors.append("name part must be non-empty")
    errors += [f"name part {error}" for error in _text_errors(name, _NAME, _NO_NAME, _MAX_ID_LENGTH)]
    return " ".join(errors)


def _joined_errors(text: str, pattern: re.Pattern[str], message: str, max_length: int) -> str:
    return " ".join(_text_errors(text, pattern, message, max_length))


def _text_errors(text: str, pattern: re.Pattern[str], message: str, max_length: int) -> list[str]:
    too_long = [f"must be no more than {max_length} characters"] if len(text.encode()) > max_length else []
    return [*too_long, *([] if pattern.fullmatch(text) else [message])]


def _check_state_and_domains(project: Project) -> None:
    if project.domains:
        raise invalid(
            "Domains are currently only set system wide. "
            "Please retry without domains included in your request."
        )
    if project.state not in Project.ProjectState.values():
        raise invalid(f"invalid project state [{project.state}]")
