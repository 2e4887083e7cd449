"""The command `cluster-resources`: the Kubernetes resources of a project and domain."""

from __future__ import annotations

from cpctl.commands import options
from cpctl.errors import UsageError
from cpctl.output import Format, document, say
from cpctl.session import SESSION


def cluster_resources(
    *,
    project: options.Project = "",
    domain: options.Domain = "",
    as_of: options.AsOf = "",
    output: options.Output = Format.TABLE,
) -> None:
    """Print the cluster resources of a project and domain, with the values of overrides filled in.

    \b
    cpctl cluster-resources -p flytesnacks -d development
    """
    if not project or not domain:
        raise UsageError(
            "Namespaces exist per project and domain: specify both.", hint="-p PROJECT -d DOMAIN"
        )
    query = {"project": project, "domain": domain, "as_of": as_of}
    answer = SESSION.api().get("overrides/effective/cluster-resources", query).json()
    for warning in answer["warnings"]:
        SESSION.tell(f"{warning['resource_type']}{warning['pointer']}: {warning['message']}")
    if output.is_whole:
        return say(*document(answer, output))
    if not answer["resources"]:
        return SESSION.tell("No templates are set.")
    return say("\n---\n".join(resource["text"].strip() for resource in answer["resources"]))
