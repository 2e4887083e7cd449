"""Plugin specifications of version 1, read strictly with all their errors. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum

from registry.plugins.documents.diagnostics import Code, Findings, Node, quote_name
from registry.plugins.documents.executors import (
    DEFAULT_SHELL,
    Entrypoint,
    Executor,
    read_entrypoint,
    read_image_template,
)
from registry.plugins.documents.fields import (
    read_block,
    read_choice,
    read_items,
    read_line,
    read_members,
    read_name,
    read_optional,
    read_version_text,
)
from registry.plugins.documents.images import parse_image
from registry.plugins.documents.paths import find_path_problem
from registry.plugins.documents.questions import Question, read_all_questions
from registry.plugins.documents.reading import Reading, read_yaml

_REQUIRED = ("name", "plugintype", "pluginversion", "image", "entrypoint")
_FIELDS = (
    *_REQUIRED,
    "description",
    "hooktype",
    "dependson",
    "pluginmods",
    "apiversion",
    "questions",
    "defaultassets",
    "defaultconfig",
)
_PLUGIN_TYPES = ("task", "hook")
_HOOK_TYPES = ("pre", "post", "fail")
_MODS = ("cli", "dependencyresolver")


class Dialect(StrEnum):
    """Extensions of version 1, each off by default."""

    INIT_IMAGE = "x-init-image"


@dataclass(frozen=True, slots=True)
class SpecV1:
    """A plugin with one version. hook_type: empty for tasks."""

    name: str
    plugin_type: str
    version: str
    executor: Executor
    description: str = ""
    hook_type: str = ""
    depends_on: tuple[str, ...] = ()
    mods: tuple[str, ...] = ()
    api_versions: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    default_assets: Mapping[str, str] | None = None
    default_config: Mapping[str, str] | None = None


def read_spec_v1(text: str, dialects: Collection[Dialect] = ()) -> Reading[SpecV1]:
    """Read a specification of version 1."""
    return read_yaml(text, lambda node, findings: _read_root(node, findings, dialects))


def _read_root(node: Node, findings: Findings, dialects: Collection[Dialect]) -> SpecV1 | None:
    extensions = ("init_image",) if Dialect.INIT_IMAGE in dialects else ()
    members = read_members(node, (*_FIELDS, *extensions), findings, _REQUIRED)
    plugin_type = read_optional(members, "plugintype", _read_plugin_type, findings) or ""
    return SpecV1(
        name=read_optional(members, "name", read_name, findings) or "",
        plugin_type=plugin_type,
        version=read_optional(members, "pluginversion", read_version_text, findings) or "",
        executor=_read_executor(members, findings),
        description=read_optional(members, "description", read_block, findings) or "",
        hook_type=_read_hook_type(node, members, plugin_type, findings),
        depends_on=_read_texts(members, "dependson", findings),
        mods=_read_mods(members, findings),
        api_versions=_read_texts(members, "apiversion", findings),
        questions=read_optional(members, "questions", read_all_questions, findings) or (),
        default_assets=_read_pairs(members, "defaultassets", findings),
        default_config=_read_pairs(members, "defaultconfig", findings),
    )


def _read_executor(members: Mapping[str, Node], findings: Findings) -> Executor:
    image = read_optional(members, "image", read_image_template, findings) or ""
    parsed = parse_image(image)
    if parsed and not parsed.tag and not parsed.digest:
        message = "The image needs a tag or a digest."
        findings.error(members["image"].pointer, Code.INVALID_IMAGE, message, "Add a version, such as :1.2.")
    shell, script = read_optional(members, "entrypoint", read_entrypoint, findings) or ("", "")
    init_image = read_optional(members, "init_image", read_image_template, findings) or ""
    return Executor(image, Entrypoint(script, shell or DEFAULT_SHELL), init_image)


def _read_plugin_type(node: Node, findings: Findings) -> str | None:
    return read_choice(node, _PLUGIN_TYPES, findings)


def _read_hook_type(node: Node, members: Mapping[str, Node], plugin_type: str, findings: Findings) -> str:
    if "hooktype" not in members:
        if plugin_type == "hook":
            findings.error(node.pointer, Code.REQUIRED, "The field 'hooktype' is required for hooks.")
        return ""
    if plugin_type == "task":
        message = "Only hooks have a 'hooktype'."
        findings.error(members["hooktype"].pointer, Code.INVALID_VALUE, message, "Remove it.")
    return read_choice(members["hooktype"], _HOOK_TYPES, findings) or ""


def _read_mods(members: Mapping[str, Node], findings: Findings) -> tuple[str, ...]:
    if "pluginmods" not in members:
        return ()
    mods = (read_choice(item, _MODS, findings) for item in read_items(members["pluginmods"], findings))
    return tuple(mod for mod in mods if mod)


def _read_texts(members: Mapping[str, Node], name: str, findings: Findings) -> tuple[str, ...]:
    if name not in members:
        return ()
    texts = (read_version_text(item, findings) for item in read_items(members[name], findings))
    return tuple(text for text in texts if text)


def _read_pairs(members: Mapping[str, Node], name: str, findings: Findings) -> dict[str, str]:
    """Read a list of `{name, value}`. Names of assets are also paths in the job's folder."""
    pairs: dict[str, str] = {}
    for item in read_items(members[name], findings) if name in members else ():
        fields = read_members(item, ("name", "value"), findings, required=("name",))
        key = read_optional(fields, "name", read_line, findings)
        if key is None:
            continue
        if key in pairs:
            findings.error(
                fields["name"].pointer, Code.DUPLICATE, f"The name {quote_name(key)} is used already."
            )
        if name == "defaultassets" and (problem := find_path_problem(key)):
            findings.error(fields["name"].pointer, Code.INVALID_PATH, f"The name of an asset {problem}.")
        pairs[key] = read_optional(fields, "value", read_block, findings) or ""
    return pairs
