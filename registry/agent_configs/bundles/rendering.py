"""Render a bundle as the one document that a data plane reads. Pure.

Mappings and timeouts are lists of objects with one member: in a single object Flyte would convert names to
lower case and split them at dots. Strings are quoted, so that no YAML parser misreads `no` or `1.10`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import yaml

from controlplane.formats import go_durations
from registry.agent_configs.bundles.bundle import Agent, Bundle
from registry.agent_configs.documents.content import canonical, digest_of
from registry.agent_configs.documents.dialects import NAMES_BY_SECTION, Dialect, DialectNames

_REVISION = "controlplane/revision"
_DIGEST = "controlplane/sha256"


def render_configuration(bundle: Bundle) -> dict[str, Any]:
    """Return the document that all formats below write. Callers must not modify it."""
    document: dict[str, Any] = _cached(bundle, "document", _render_configuration)
    return document


def _render_configuration(bundle: Bundle) -> dict[str, Any]:
    names = bundle.target.names
    section: dict[str, Any] = {
        **bundle.target.platform,
        names.agents: {name: _render_agent(agent, names, bundle) for name, agent in bundle.agents.items()},
        names.routes: _pairs(bundle.mappings),
        "supportedTaskTypes": list(bundle.supported),
    }
    document: dict[str, Any] = {"plugins": {names.section: section}}
    if bundle.defaults:
        defaults = _pairs(dict.fromkeys(bundle.defaults, names.section))
        document["tasks"] = {"task-plugins": {"default-for-task-types": defaults}}
    return document


def bundle_digest(bundle: Bundle) -> str:
    """Return the SHA-256 of the document's canonical JSON. Equal documents are one revision."""
    return str(_cached(bundle, "digest", lambda bundle: digest_of(render_configuration(bundle))))


def as_yaml(bundle: Bundle) -> str:
    return str(_cached(bundle, "yaml", lambda bundle: _dump_yaml(render_configuration(bundle))))


def bundle_size(bundle: Bundle) -> int:
    """Return the size of the document as compact JSON: close to the YAML, in a tenth of the time."""
    return int(_cached(bundle, "size", lambda bundle: len(canonical(render_configuration(bundle)).encode())))


def as_json(bundle: Bundle) -> str:
    return json.dumps(render_configuration(bundle), indent=2, ensure_ascii=False) + "\n"


def as_config_map(bundle: Bundle, *, name: str, namespace: str, revision: int = 0) -> str:
    """Return a ConfigMap with the document as its only file, named as in Flyte's chart."""
    return _dump_yaml(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "annotations": {_DIGEST: bundle_digest(bundle), _REVISION: str(revision)},
            },
            "data": {bundle.target.names.file: as_yaml(bundle)},
        }
    )


def _cached(bundle: Bundle, what: str, make: Callable[[Bundle], Any]) -> Any:
    if what not in bundle.rendered:
        bundle.rendered[what] = make(bundle)
    return bundle.rendered[what]


def _render_agent(agent: Agent, names: DialectNames, bundle: Bundle) -> dict[str, Any]:
    deployment = agent.deployment
    timeouts = {
        names.operation(operation): go_durations.write(value)
        for operation, value in deployment.timeouts.items()
    }
    settings: dict[str, Any] = {"endpoint": deployment.endpoint, "insecure": deployment.insecure}
    if deployment.service_config:
        settings["defaultServiceConfig"] = deployment.service_config
    settings["defaultTimeout"] = go_durations.write(deployment.default_timeout or 0)
    settings["timeouts"] = _pairs(timeouts)
    if agent.canary and bundle.target.dialect is Dialect.CONNECTOR_V2:
        settings |= {"project": agent.canary.project, "domain": agent.canary.domain}
    return settings


def _pairs(mapping: Mapping[str, str]) -> list[dict[str, str]]:
    return [{name: mapping[name]} for name in sorted(mapping)]


def _dump_yaml(document: Any) -> str:
    # Wider than any line: folded lines are valid but hard to read.
    return str(yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1 << 20))


@cache
def _plain_names() -> frozenset[str]:
    """Return names of Flyte and Kubernetes that every YAML parser reads as strings."""
    kubernetes = ("apiVersion", "kind", "metadata", "name", "namespace", "annotations", "data")
    sections = ("plugins", "tasks", "task-plugins", "default-for-task-types", "supportedTaskTypes")
    settings = ("endpoint", "insecure", "defaultServiceConfig", "defaultTimeout", "timeouts")
    spelled = (
        word
        for names in NAMES_BY_SECTION.values()
        for word in (names.section, names.agents, names.routes, names.file)
    )
    operations = (name for names in NAMES_BY_SECTION.values() for name in names.operations())
    return frozenset((*kubernetes, *sections, *settings, *spelled, *operations))


class _Dumper(yaml.CSafeDumper):
    """A dumper that quotes all strings except known names."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: Any, text: str) -> Any:
    style = None if text in _plain_names() else "|" if "\n" in text else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
