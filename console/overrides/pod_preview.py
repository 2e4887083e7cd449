"""The page that previews the pod of a task, with the source of each value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.cpctl_commands import cpctl, curl
from console.filter_choices import domains, projects, select_options
from console.form_fields import Input, errors_by_name, fill
from console.forms import parse_form, read_form
from console.overrides import pod_form
from console.pages import page
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.errors import ControlplaneError, PermissionDenied
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.api.effective.pod_preview import preview_of
from overrides.api.effective.pod_schemas import PodPreviewWrite

_TEMPLATE = "console/overrides/pod_preview.html"
# Each with its value in a form that nobody has filled in.
_SCOPE, _DOCUMENTS = ("project", "domain"), ("task", "pod_templates")
_FIELDS = {
    **dict.fromkeys(_SCOPE, ""),
    "namespace": "",
    "propeller_namespace": "flyte",
    **dict.fromkeys(_DOCUMENTS, ""),
}


@page
def preview(request: HttpRequest, caller: Caller) -> HttpResponse:
    if not caller.scopes_for(Action.OVERRIDE_READ):
        caller.require(Action.OVERRIDE_READ)
    if request.method != "POST":
        example = pod_form.EXAMPLE if request.GET.get("example") == "1" else {}
        asked = {name: request.GET[name] for name in _SCOPE if name in request.GET}
        return _page(request, caller, {**_FIELDS, **example, **asked})
    form: dict[str, str] = dict(_FIELDS)
    try:
        form |= {name: value for name, value in read_form(request).items() if name in _FIELDS}
        body = pod_form.body_of(form)
        answer = preview_of(caller, parse_form(PodPreviewWrite, body))
    except PermissionDenied:
        raise
    except ControlplaneError as error:
        return _page(request, caller, form, error)
    return _page(request, caller, form, None, _result(request, body, answer))


def _page(
    request: HttpRequest,
    caller: Caller,
    form: Mapping[str, str],
    error: ControlplaneError | None = None,
    result: Mapping[str, Any] | None = None,
) -> HttpResponse:
    errors = errors_by_name(error, _FIELDS) if error else None
    fields = fill(_inputs(caller, form), form, errors.by_name if errors else {})
    context = {
        "short_fields": [field for field in fields if field.input.name not in _DOCUMENTS],
        "documents": [field for field in fields if field.input.name in _DOCUMENTS],
        "scope": {name: form[name] for name in _SCOPE},
        "query": urlencode({name: form[name] for name in _SCOPE if form[name]}),
        "problem": error,
        "errors": errors,
    }
    status = STATUS_BY_ERROR[type(error)] if error else 200
    return render(request, _TEMPLATE, {**context, **(result or {})}, status=status)


def _inputs(caller: Caller, form: Mapping[str, str]) -> tuple[Input, ...]:
    def options(names: list[str], name: str) -> tuple[tuple[str, str], ...]:
        return (("", "any"), *((each, each) for each in select_options(names, form[name])))

    default = {"placeholder": "project-domain", "maxlength": "63"}
    return (
        Input("project", "Project", "select", choices=options(projects(caller), "project")),
        Input("domain", "Domain", "select", choices=options(domains(), "domain")),
        Input("namespace", "Pod namespace", attributes=default),
        Input("propeller_namespace", "FlytePropeller namespace", attributes={"maxlength": "63"}),
        Input(
            "task",
            "Task",
            "textarea",
            hint="YAML or JSON with container, or with pod_spec and primary_container_name. Also labels,"
            " annotations, pod_template_name and accelerator.",
        ),
        Input(
            "pod_templates",
            "PodTemplates",
            "textarea",
            hint="As kubectl get podtemplate NAME -o yaml prints one. Separate several by ---. Empty: none.",
        ),
    )


def _result(request: HttpRequest, body: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the context of the page below its form."""
    scope = Scope(**{name: body[name] for name in _SCOPE})
    words = [word for name in _SCOPE if body[name] for word in (f"--{name}", body[name])]
    return {
        "answer": answer,
        "at": scope,
        "rows": [pod_form.row(answer["pod"], source) for source in answer["sources"]],
        "copies": {
            "curl": curl(request, "POST", "overrides/pod-preview", body),
            "cpctl": cpctl("pod-preview", *words, "--filename", "pod.yaml"),
            "yaml": answer["text"],
        },
    }
