"""Plugin specifications of version 2, with several versions of one plugin. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from controlplane.formats.yaml_names import find_ambiguous_names
from registry.plugins.documents.diagnostics import Code, Findings, Node
from registry.plugins.documents.executors import (
    DEFAULT_SHELL,
    Entrypoint,
    Executor,
    read_entrypoint,
    read_image_template,
    read_repository,
    read_tag,
)
from registry.plugins.documents.fields import (
    read_block,
    read_items,
    read_line,
    read_members,
    read_name,
    read_optional,
)
from registry.plugins.documents.paths import find_path_problem
from registry.plugins.documents.plugin_entries import read_range
from registry.plugins.documents.reading import Reading, read_yaml

DEFAULT_VERSION = "default"
_REQUIRED = ("version", "name", "plugin_versions")
_FIELDS = (
    *_REQUIRED,
    "description",
    "destination_urn_template",
    "asset_parsers",
    "default_config",
    "requires_server",
)
_PARSERS = ("bq", "maxcompute")
_URN = re.compile(r"[a-z][a-z0-9+.-]*://(?:<[A-Za-z_][A-Za-z0-9_]*>|[^<>\s])+")


class UnknownVersion(LookupError):
    """A job asks for a version that its plugin does not have."""


@dataclass(frozen=True, slots=True)
class VersionDetails:
    """A version of a plugin. Empty fields are those of the default version."""

    image: str = ""
    tag: str = ""
    shell: str = ""
    script: str = ""
    init_image: str = ""


@dataclass(frozen=True, slots=True)
class AssetParser:
    """Where a job's sources are named: an environment variable, or a file with an optional selector."""

    env: str = ""
    file_path: str = ""
    selector: str = ""


@dataclass(frozen=True, slots=True)
class SpecV2:
    """A plugin with several versions. versions: also has the key `default`."""

    name: str
    versions: Mapping[str, VersionDetails]
    description: str = ""
    destination_urn_template: str = ""
    asset_parsers: Mapping[str, tuple[AssetParser, ...]] = field(default_factory=dict)
    default_config: Mapping[str, str] = field(default_factory=dict)
    requires_server: str = ""

    def executor(self, version: str = DEFAULT_VERSION) -> Executor:
        """Return how a version runs. Raises UnknownVersion, which lists the known ones."""
        if version not in self.versions:
            known = ", ".join(sorted(self.versions))
            raise UnknownVersion(f"The plugin {self.name!r} has no such version. Known versions: {known}.")
        default, own = self.versions[DEFAULT_VERSION], self.versions[version]
        return Executor(
            f"{own.image or default.image}:{own.tag or default.tag}",
            Entrypoint(own.script or default.script, own.shell or default.shell or DEFAULT_SHELL),
            own.init_image or default.init_image,
        )


def read_spec_v2(text: str) -> Reading[SpecV2]:
    """Read a specification of version 2."""
    return read_yaml(text, lambda node, findings: _read_root(node, findings, find_ambiguous_names(text)))


def _read_root(node: Node, findings: Findings, ambiguous_names: Set[str]) -> SpecV2 | None:
    members = read_members(node, _FIELDS, findings, _REQUIRED)
    if "version" in members and (type(members["version"].value), members["version"].value) != (int, 2):
        findings.error(members["version"].pointer, Code.INVALID_VALUE, "Expected version: 2.")
    versions = members.get("plugin_versions")
    return SpecV2(
        name=read_optional(members, "name", read_name, findings) or "",
        versions=_read_versions(versions, findings, ambiguous_names) if versions else {},
        description=read_optional(members, "description", read_block, findings) or "",
        destination_urn_template=read_optional(members, "destination_urn_template", _read_urn, findings)
        or "",
        asset_parsers=read_optional(members, "asset_parsers", _read_parsers, findings) or {},
        default_config=read_optional(members, "default_config", _read_default_config, findings) or {},
        requires_server=read_optional(members, "requires_server", read_range, findings) or "",
    )


def _read_versions(node: Node, findings: Findings, ambiguous_names: Set[str]) -> dict[str, VersionDetails]:
    if not isinstance(node.value, Mapping) or DEFAULT_VERSION not in node.value:
        message = "Expected an object with versions, one of them 'default'."
        findings.error(node.pointer, Code.REQUIRED, message)
        return {}
    versions = {}
    for name in node.value:
        inner = node.member(name)
        if inner.pointer in ambiguous_names:
            message = "A version must be quoted, because other parsers read it as a number, boolean or date."
            findings.error(inner.pointer, Code.UNQUOTED_VERSION, message, 'Quote it, such as "3.6".')
        versions[name] = _read_details(inner, findings, is_default=name == DEFAULT_VERSION)
    return versions


def _read_details(node: Node, findings: Findings, *, is_default: bool) -> VersionDetails:
    # A version without fields of its own is the default one under another name.
    if node.value is None and not is_default:
        return VersionDetails()
    required = ("image", "tag", "entrypoint") if is_default else ()
    members = read_members(node, ("image", "tag", "entrypoint", "init_image"), findings, required)
    shell, script = "", ""
    if "entrypoint" in members:
        shell, script = read_entrypoint(members["entrypoint"], findings, script_required=is_default)
    return VersionDetails(
        read_optional(members, "image", read_repository, findings) or "",
        read_optional(members, "tag", read_tag, findings) or "",
        shell,
        script,
        read_optional(members, "init_image", read_image_template, findings) or "",
    )


def _read_urn(node: Node, findings: Findings) -> str | None:
    text = read_line(node, findings)
    if text is None or _URN.fullmatch(text):
        return text
    message = "Expected a template such as bigquery://<PROJECT>:<DATASET>.<TABLE>."
    findings.error(node.pointer, Code.INVALID_VALUE, message)
    return None


def _read_parsers(node: Node, findings: Findings) -> dict[str, tuple[AssetParser, ...]]:
    members = read_members(node, _PARSERS, findings)
    return {
        name: tuple(_read_parser(item, findings) for item in read_items(inner, findings))
        for name, inner in members.items()
    }


def _read_parser(node: Node, findings: Findings) -> AssetParser:
    members = read_members(node, ("env", "filepath", "selector"), findings)
    if ("env" in members) == ("filepath" in members):
        message = "Expected exactly one of 'env' and 'filepath'."
        findings.error(node.pointer, Code.INVALID_VALUE, message)
    if "selector" in members and "filepath" not in members:
        message = "The field 'selector' selects within a 'filepath', which is missing."
        findings.error(members["selector"].pointer, Code.INVALID_VALUE, message)
    texts = {name: read_line(inner, findings) or "" for name, inner in members.items()}
    file_path = texts.get("filepath", "").removeprefix("./")
    if file_path and (problem := find_path_problem(file_path)):
        findings.error(members["filepath"].pointer, Code.INVALID_PATH, f"The path {problem}.")
    return AssetParser(texts.get("env", ""), file_path, texts.get("selector", ""))


def _read_default_config(node: Node, findings: Findings) -> dict[str, str]:
    if not isinstance(node.value, Mapping):
        findings.error(node.pointer, Code.INVALID_TYPE, "Expected an object with texts.")
        return {}
    return {name: read_block(node.member(name), findings) or "" for name in node.value}
