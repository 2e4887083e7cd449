"""The command `helm-values`: effective values as the values of Flyte's charts."""

from __future__ import annotations

from typing import Annotated

import typer

from cpctl.commands import options
from cpctl.output import say
from cpctl.session import SESSION


def helm_values(
    *,
    project: options.Project = "",
    domain: options.Domain = "",
    chart: Annotated[str, typer.Option(help="flyte-core or flyte-binary.")] = "flyte-core",
    resource_type: Annotated[str, typer.Option("--type", help="Only this resource type.")] = "",
    as_of: options.AsOf = "",
) -> None:
    """Print the effective values of a scope as values of Flyte's Helm chart.

    \b
    cpctl helm-values --chart flyte-binary > values.yaml
    """
    scope = options.scope_of((project, domain, "", ""))
    query = {**scope, "as_of": as_of, "chart": chart, "type": resource_type, "format": "flyte-helm"}
    answer = SESSION.api().get("overrides/effective/render", query).json()
    for name in answer["left_out"]:
        SESSION.tell(f"{name} is not part of the chart.")
    for warning in answer["warnings"]:
        SESSION.tell(f"{warning['resource_type']}{warning['pointer']}: {warning['message']}")
    if answer["text"]:
        say(answer["text"].rstrip())
