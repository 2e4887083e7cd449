"""The command `pod-preview`: the pod that Flyte would create for a task."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cpctl import files
from cpctl.commands import options
from cpctl.errors import UsageError
from cpctl.exits import Exit
from cpctl.output import Format, document, say
from cpctl.scopes import scope_text
from cpctl.session import SESSION

FilePaths = Annotated[
    list[str],
    typer.Option("-f", "--filename", help="Files with PodTemplates and one task; - for standard input."),
]


def pod_preview(
    *,
    filename: FilePaths,
    project: options.Project = "",
    domain: options.Domain = "",
    propeller_namespace: Annotated[str, typer.Option(help="Namespace of FlytePropeller.")] = "flyte",
    sources: Annotated[bool, typer.Option("--sources", help="Print where each value is from.")] = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Print the pod of a task, with the configuration in effect. Exits with 1 if Flyte would fail the task.

    A document with `kind: PodTemplate` is a PodTemplate; the other one is the task, with `container` or
    `pod_spec` as in the API. Without a task, the pod is that of an empty container.

    \b
    cpctl pod-preview -p flytesnacks -d development -f pod-template.yaml -f task.yaml --sources
    """
    templates, task = _parts(files.documents(files.read(filename)))
    body = {"task": task, "pod_templates": templates, "propeller_namespace": propeller_namespace}
    scope = {"project": project, "domain": domain}
    answer = SESSION.api().post("overrides/pod-preview", {**scope, **body}).json()
    for note in (*answer["notes"], *filter(None, [answer["failure"]])):
        SESSION.tell(note)
    if output.is_whole:
        say(*document(answer, output))
    elif answer["pod"] is not None:
        say(*(map(_source_line, answer["sources"]) if sources else [answer["text"].rstrip()]))
    if answer["pod"] is None:
        raise typer.Exit(Exit.DIFFERS)


def _parts(documents: list[Any]) -> tuple[list[Any], Any]:
    """Return the PodTemplates and the task. Raises UsageError."""
    if not all(isinstance(each, dict) for each in documents):
        raise UsageError("Each document must be an object: a PodTemplate or a task.")
    templates = [each for each in documents if each.get("kind") == "PodTemplate"]
    tasks = [each for each in documents if each.get("kind") != "PodTemplate"]
    if len(tasks) > 1:
        raise UsageError(f"The files have {len(tasks)} tasks. A preview is of one.", hint="kind: PodTemplate")
    return templates, tasks[0] if tasks else {"container": {}}


def _source_line(source: Any) -> str:
    of = " ".join(filter(None, [source["source"], source["name"], source["setting"]]))
    return f"{source['pointer']}\t{of}" + (f"\t{scope_text(source['scope'])}" if source["scope"] else "")
