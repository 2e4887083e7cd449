"""Typed reading of a section of a configuration file: mistakes and unknown keys with their lines. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from controlplane.access.flyte_auth.yaml_nodes import Node
from controlplane.formats import go_durations

_PLACEHOLDER = re.compile(r"<[^<>]*>|\{\{.*\}\}")


class InvalidConfiguration(ValueError):
    """Mistakes in a configuration file, one per line, each with file and line."""


@dataclass(slots=True)
class Findings:
    """What is wrong in a file: mistakes make it unusable, warnings do not."""

    file: str
    mistakes: list[tuple[int, str]] = field(default_factory=list)
    warnings: list[tuple[int, str]] = field(default_factory=list)

    def reject(self, line: int, message: str) -> None:
        self.mistakes.append((line, f"{self.file}, line {line}: {message}"))

    def warn(self, line: int, message: str) -> None:
        self.warnings.append((line, f"{self.file}, line {line}: {message}"))

    def all_warnings(self) -> tuple[str, ...]:
        return tuple(text for _, text in sorted(self.warnings))

    def raise_mistakes(self) -> None:
        """Raise InvalidConfiguration if there is a mistake."""
        if self.mistakes:
            raise InvalidConfiguration("\n".join(text for _, text in sorted(self.mistakes)))


class Section:
    """A mapping whose members are read by name, whatever their case."""

    def __init__(self, node: Node | None, path: str, findings: Findings) -> None:
        self.path, self.findings = path, findings
        self.line = node.line if node is not None else 0
        value = node.value if node is not None else None
        if value is not None and not isinstance(value, dict):
            findings.reject(self.line, f"`{path}` must be a mapping.")
        self._members: dict[str, tuple[str, Node]] = {}
        for name, member in (value if isinstance(value, dict) else {}).items():
            if name.lower() in self._members:
                findings.reject(member.line, f"`{path}.{name}` is repeated with other capitals.")
            self._members[name.lower()] = (name, member)
        self._read: set[str] = set()

    def node(self, name: str) -> Node | None:
        """Return a member; None if it is missing or null."""
        self._read.add(name.lower())
        _, node = self._members.get(name.lower(), ("", None))
        return node if node is not None and node.value is not None else None

    def section(self, name: str) -> Section:
        return Section(self.node(name), f"{self.path}.{name}", self.findings)

    def sections(self) -> list[tuple[str, Section]]:
        """Return all members as sections, by name."""
        return [(name, self.section(name)) for name, _ in list(self._members.values())]

    def text(self, name: str, default: str = "") -> str:
        node = self.node(name)
        return default if node is None else self._text(name, node)

    def secret(self, name: str) -> str:
        """Return a string that may contain anything."""
        node = self.node(name)
        return "" if node is None or isinstance(node.value, (dict, list, bool)) else str(node.value).strip()

    def texts(self, name: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return a list of strings. A single string is a list of one, as in upstream's guide."""
        node = self.node(name)
        if node is None:
            return default
        items = node.value if isinstance(node.value, list) else [node]
        return tuple(self._text(f"{name}[{index}]", item) for index, item in enumerate(items))

    def url(self, name: str, default: str = "") -> str:
        node = self.node(name)
        return default if node is None else self._url(name, node)

    def urls(self, name: str) -> tuple[str, ...]:
        node = self.node(name)
        items = [] if node is None else node.value if isinstance(node.value, list) else [node]
        return tuple(self._url(f"{name}[{index}]", item) for index, item in enumerate(items))

    def flag(self, name: str, *, default: bool) -> bool:
        node = self.node(name)
        if node is None or isinstance(node.value, bool):
            return default if node is None else bool(node.value)
        self._reject(name, node, "must be true or false")
        return default

    def number(self, name: str, default: int) -> int:
        node = self.node(name)
        if node is None:
            return default
        if isinstance(node.value, int) and not isinstance(node.value, bool) and node.value >= 0:
            return node.value
        self._reject(name, node, "must be a whole number of at least 0")
        return default

    def seconds(self, name: str, default: int) -> int:
        """Return a duration such as `30m0s`, in whole seconds."""
        node = self.node(name)
        if node is None:
            return default
        try:
            nanoseconds = go_durations.parse(str(node.value))
        except ValueError:
            nanoseconds = -1
        if nanoseconds < 0:
            self._reject(name, node, "must be a duration such as 30m or 1h30m")
            return default
        return nanoseconds // go_durations.SECOND

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """Return one of the choices, whatever its case. The first is the default."""
        text = self.text(name, choices[0])
        for choice in choices:
            if choice.lower() == text.lower():
                return choice
        if node := self.node(name):
            self._reject(name, node, f"must be one of {', '.join(choices)}")
        return choices[0]

    def ignore(self, *names: str, because: str = "") -> None:
        """Accept members that have no effect here. because: a warning for those that have a value."""
        for name in names:
            node = self.node(name)
            if node is not None and node.value not in ("", False) and because:
                self.findings.warn(node.line, f"`{self.path}.{name}` has no effect: {because}")

    def warn_of_unknown_keys(self) -> None:
        for key, (name, node) in self._members.items():
            if key not in self._read:
                self.findings.warn(node.line, f"`{self.path}.{name}` is unknown and has no effect.")

    def _text(self, name: str, node: Node) -> str:
        value = node.value
        if isinstance(value, (dict, list, bool)) or value is None:
            self._reject(name, node, "must be a string")
            return ""
        text = str(value).strip()
        if _PLACEHOLDER.search(text):
            self._reject(name, node, "still has the placeholder of a template. Replace it")
        return text

    def _url(self, name: str, node: Node) -> str:
        known_mistakes = len(self.findings.mistakes)
        text = self._text(name, node)
        if text and len(self.findings.mistakes) == known_mistakes and not _is_url(text):
            self._reject(name, node, "must be a URL that begins with https:// or http://")
        return text

    def _reject(self, name: str, node: Node, problem: str) -> None:
        self.findings.reject(node.line, f"`{self.path}.{name}` {problem}.")


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not re.search(r"\s", text)
