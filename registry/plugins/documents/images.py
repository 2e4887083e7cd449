"""References of container images: `registry/repository:tag@digest`. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from registry.plugins.documents.diagnostics import Code, Findings, Node
from registry.plugins.documents.fields import read_text

_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_REFERENCE = re.compile(
    r"(?P<repository>(?:[A-Za-z0-9.-]+(?::[0-9]{1,5})?/)?[a-z0-9]+(?:(?:[._/]|__|-+)[a-z0-9]+)*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)
_MAX_LENGTH = 512


@dataclass(frozen=True, slots=True)
class Image:
    """A parsed reference."""

    repository: str
    tag: str = ""
    digest: str = ""

    @property
    def is_mutable(self) -> bool:
        """True if the same reference can mean another image tomorrow."""
        return not self.digest and self.tag in ("", "latest")


def parse_image(text: str) -> Image | None:
    """Return the parts of a reference, or None if it is invalid."""
    match = _REFERENCE.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    return Image(match["repository"], match["tag"] or "", match["digest"] or "") if match else None


def is_tag(text: str) -> bool:
    """True if the text can be the tag of an image."""
    return _TAG.fullmatch(text) is not None


def read_image(node: Node, findings: Findings) -> str | None:
    """Read the reference of an image."""
    text = read_text(node, findings)
    if text is None or parse_image(text):
        return text
    message = "Expected the reference of an image, such as registry.example/team/image:1.2."
    findings.error(node.pointer, Code.INVALID_IMAGE, message)
    return None


def read_pinned_image(node: Node, findings: Findings) -> str | None:
    """Read the reference of an image. Warn if it has no tag, or the tag `latest`."""
    text = read_image(node, findings)
    image = parse_image(text) if text else None
    if image and image.is_mutable:
        message = "The image can change without a release: nodes keep the image that they pulled first."
        findings.warn(node.pointer, Code.MUTABLE_IMAGE, message, "Add a version or a digest.")
    return text
