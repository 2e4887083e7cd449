"""Read a published document into its content, or into all its errors. Pure.

`read_document` takes text, YAML or JSON; `read_object` an object that a Kubernetes API has parsed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from controlplane.errors import MalformedBody
from controlplane.formats import strict_yaml
from controlplane.formats.strict_yaml import Position
from registry.agent_configs.documents.content import Content
from registry.agent_configs.documents.diagnostics import Code, Diagnostic, Findings, Node, Place, Severity
from registry.agent_configs.documents.envelopes import check_envelope, is_config_map, read_files, read_name
from registry.agent_configs.documents.limits import Limits
from registry.agent_configs.documents.payloads import read_payload
from registry.agent_configs.documents.routes import build_content, merge_drafts


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading one document. content: None if the document has errors.

    name: the ConfigMap's own name, or empty. parsed: False if it is not valid YAML. omitted: number of
    diagnostics above the limit.
    """

    content: Content | None
    diagnostics: tuple[Diagnostic, ...] = ()
    name: str = ""
    parsed: bool = True
    omitted: int = 0

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(diagnostic for diagnostic in self.diagnostics if diagnostic.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return tuple(diagnostic for diagnostic in self.diagnostics if diagnostic.severity is Severity.WARNING)


def read_document(text: str, limits: Limits | None = None) -> Reading:
    """Read a document from text: a ConfigMap or the bare configuration."""
    limits = limits or Limits()
    findings = Findings(limits.max_diagnostics)
    # UTF-8 never has fewer bytes than characters, so most oversized texts are not encoded to be measured.
    if len(text) > limits.document_bytes or len(text.encode(errors="replace")) > limits.document_bytes:
        findings.error(Place(), Code.TOO_LARGE, f"The document exceeds {limits.document_bytes} bytes.")
        return Reading(None, findings.located({}), parsed=False)
    value = _parse(text, Place(), findings)
    if findings.diagnostics:
        return Reading(None, findings.located({}), parsed=False)
    return _read_value(value, text, limits, findings)


def read_object(value: Any, limits: Limits | None = None) -> Reading:
    """Read a parsed document; only texts within it have lines and columns."""
    limits = limits or Limits()
    return _read_value(value, "", limits, Findings(limits.max_diagnostics))


def _read_value(value: Any, text: str, limits: Limits, findings: Findings) -> Reading:
    root = Node(value, Place())
    texts = {"": text}
    if is_config_map(value):
        check_envelope(root, findings)
        payloads = list(_read_payloads(root, texts, limits, findings))
    else:
        payloads = [root]
    drafts = [read_payload(payload, limits, findings) for payload in payloads]
    parsed = not any(diagnostic.code is Code.INVALID_YAML for diagnostic in findings.diagnostics)
    content = build_content(merge_drafts(drafts, findings), limits, findings) if drafts else None
    diagnostics = findings.located(_find_positions(texts, findings))
    valid = findings.counts[Severity.ERROR] == 0
    name = read_name(value) if is_config_map(value) else ""
    return Reading(content if valid else None, diagnostics, name, parsed, findings.omitted)


def _read_payloads(root: Node, texts: dict[str, str], limits: Limits, findings: Findings) -> Iterator[Node]:
    for name, node in read_files(root, findings, limits.files):
        if not name:
            yield node
        elif len(node.value.encode(errors="replace")) > limits.document_bytes:
            message = f"The file exceeds {limits.document_bytes} bytes."
            findings.error(node.place, Code.TOO_LARGE, message)
        else:
            before = len(findings.diagnostics)
            value = _parse(node.value, Place(name), findings)
            if len(findings.diagnostics) == before:
                texts[name] = node.value
                yield Node(value, Place(name))


def _parse(text: str, place: Place, findings: Findings) -> Any:
    try:
        return strict_yaml.load(text)
    except MalformedBody as error:
        problem = error.errors[0] if error.errors else None
        message = problem.message if problem else error.detail
        findings.unreadable(place, message, problem.line if problem else 0, problem.column if problem else 0)
        return None


def _find_positions(texts: dict[str, str], findings: Findings) -> dict[str, dict[str, Position]]:
    """Return the positions of all values, for the files with diagnostics."""
    files = {diagnostic.file for diagnostic in findings.diagnostics}
    positions_by_file = {
        name: strict_yaml.positions(text) for name, text in texts.items() if name in files and text
    }
    return {name: places[0] for name, places in positions_by_file.items() if places}
