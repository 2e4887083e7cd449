"""How a plugin runs: its image, its entrypoint, and its own init image. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from registry.plugins import variables
from registry.plugins.documents.diagnostics import Code, Findings, Node
from registry.plugins.documents.fields import read_block, read_members, read_optional, read_text
from registry.plugins.documents.images import is_tag, parse_image, read_pinned_image

DEFAULT_SHELL = "/bin/sh"
_SHELL = re.compile(r"/?(?:[A-Za-z0-9_+-][A-Za-z0-9_.+-]*/)*[A-Za-z0-9_+-][A-Za-z0-9_.+-]*")
_MAX_SCRIPT = 64 * 1024


@dataclass(frozen=True, slots=True)
class Entrypoint:
    """The script that runs the job, and the shell that runs the script. Newlines of the script are kept."""

    script: str
    shell: str = DEFAULT_SHELL


@dataclass(frozen=True, slots=True)
class Executor:
    """What a pod needs to know about a plugin. init_image: empty for the server's default."""

    image: str
    entrypoint: Entrypoint
    init_image: str = ""


class InvalidExecutor(ValueError):
    """The executor with its variables substituted cannot run."""


def render_executor(executor: Executor, config: Mapping[str, variables.Variable]) -> Executor:
    """Return the executor with its variables substituted. `init_image` of the configuration wins.

    Raises UnknownVariable, or InvalidExecutor if the result is not a reference of an image.
    """
    image = variables.substitute(executor.image, config)
    init_image = str(config.get("init_image") or variables.substitute(executor.init_image, config))
    for name, reference in (("image", image), ("init image", init_image)):
        if reference and parse_image(reference) is None:
            raise InvalidExecutor(
                f"With the variables of the configuration, the {name} is not a valid reference."
            )
    script = variables.substitute(executor.entrypoint.script, config)
    return Executor(image, Entrypoint(script, executor.entrypoint.shell), init_image)


def read_entrypoint(node: Node, findings: Findings, *, script_required: bool = True) -> tuple[str, str]:
    """Read `entrypoint: {shell, script}`, and return shell and script; absent ones are empty."""
    if isinstance(node.value, str):
        message = "Expected an object with shell and script, not text."
        findings.error(node.pointer, Code.INVALID_TYPE, message, "Write entrypoint: {script: ...}.")
        return "", ""
    required = ("script",) if script_required else ()
    members = read_members(node, ("shell", "script"), findings, required)
    shell = read_optional(members, "shell", _read_shell, findings) or ""
    return shell, read_optional(members, "script", _read_script, findings) or ""


def read_image_template(node: Node, findings: Findings) -> str | None:
    """Read the reference of an image, or a template of one."""
    return _read_template(node, findings) if _is_template(node) else read_pinned_image(node, findings)


def read_repository(node: Node, findings: Findings) -> str | None:
    """Read an image without its tag, or a template of one."""
    if _is_template(node):
        return _read_template(node, findings)
    text = read_text(node, findings)
    image = parse_image(text) if text else None
    if text is None or (image and not image.tag and not image.digest):
        return text
    message = "Expected an image without tag and digest, such as registry.example/team/image."
    findings.error(node.pointer, Code.INVALID_IMAGE, message, "Write the tag as tag.")
    return None


def read_tag(node: Node, findings: Findings) -> str | None:
    """Read the tag of an image, or a template of one. Warn of the tag `latest`."""
    if isinstance(node.value, int | float):
        message = "A tag must be text, but this one is not."
        findings.error(node.pointer, Code.UNQUOTED_VERSION, message, 'Quote it, such as "3.6".')
        return None
    if _is_template(node):
        return _read_template(node, findings)
    text = read_text(node, findings)
    if text and not is_tag(text):
        findings.error(node.pointer, Code.INVALID_IMAGE, "Invalid tag of an image.")
        return None
    if text == "latest":
        message = "The image can change without a release: nodes keep the image that they pulled first."
        findings.warn(node.pointer, Code.MUTABLE_IMAGE, message, "Use a version.")
    return text


def _is_template(node: Node) -> bool:
    return isinstance(node.value, str) and variables.is_template(node.value)


def _read_template(node: Node, findings: Findings) -> str | None:
    text = read_text(node, findings)
    if text and (problem := variables.find_template_problem(text)):
        findings.error(node.pointer, Code.UNKNOWN_VARIABLE, problem)
        return None
    return text


def _read_shell(node: Node, findings: Findings) -> str | None:
    text = read_text(node, findings)
    if text is None or _SHELL.fullmatch(text):
        return text
    findings.error(node.pointer, Code.INVALID_VALUE, "Expected the path of a shell without arguments.")
    return None


def _read_script(node: Node, findings: Findings) -> str | None:
    text = read_block(node, findings)
    if text is None:
        return None
    if not text.strip() or len(text) > _MAX_SCRIPT:
        message = f"Expected a script with 1 to {_MAX_SCRIPT} characters."
        findings.error(node.pointer, Code.INVALID_VALUE, message)
        return None
    if problem := variables.find_template_problem(text):
        findings.error(node.pointer, Code.UNKNOWN_VARIABLE, problem)
    return text
