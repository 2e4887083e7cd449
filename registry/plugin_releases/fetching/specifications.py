"""The specification in an unpacked archive: found, read, and compared with what was configured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from controlplane.errors import RemoteFailed
from registry.plugins.documents.content import PluginEntry
from registry.plugins.documents.reading import MAX_BYTES
from registry.plugins.documents.spec_v1 import SpecV1
from registry.plugins.documents.spec_v2 import SpecV2
from registry.plugins.documents.specs import read_spec
from registry.plugins.versions import find_mismatch, find_server_mismatch, parse_range

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Specification:
    """A valid specification. version: of format 1; format 2 has versions that jobs choose from."""

    text: str
    version: str
    requires_server: str = ""


def find_specification(folder: Path, paths: Sequence[str], output: str) -> Specification | None:
    """Return the plugin's specification; None for an archive without one. Raises RemoteFailed.

    Its file is `optimus-plugin-*.yaml` as Optimus names it, `plugin.yaml`, or the plugin's name.
    """
    matching = [path for path in paths if _is_specification(path, output)]
    if not matching:
        return None
    if len(matching) > 1:
        raise RemoteFailed(f"The archive has several specifications: {', '.join(matching[:_SHOWN])}.")
    if (folder / matching[0]).stat().st_size > MAX_BYTES:
        raise RemoteFailed(f"The specification {matching[0]} is longer than {MAX_BYTES:,} bytes.")
    text = (folder / matching[0]).read_text(errors="replace")
    return _read(matching[0], text, output)


def _is_specification(path: str, output: str) -> bool:
    name = path.rpartition("/")[2]
    is_optimus = name.startswith("optimus-plugin-") and name.endswith((".yaml", ".yml"))
    return is_optimus or name in ("plugin.yaml", "plugin.yml", f"{output}.yaml")


def _read(path: str, text: str, output: str) -> Specification:
    reading = read_spec(text)
    spec: SpecV1 | SpecV2 | None = reading.content
    if spec is None:
        problems = "; ".join(
            f"line {item.line}: {item.message}" if item.line else item.message
            for item in reading.errors[:_SHOWN]
        )
        raise RemoteFailed(f"The specification {path} is invalid: {problems}")
    if spec.name != output:
        raise RemoteFailed(
            f"The specification {path} is of the plugin {spec.name!r}, but the configuration calls it"
            f" {output!r}. Jobs use the name; make both the same."
        )
    if isinstance(spec, SpecV1):
        return Specification(text, spec.version)
    return Specification(text, "", spec.requires_server)


def check_versions(entry: PluginEntry, specification: Specification | None, server_version: str) -> None:
    """Raise RemoteFailed unless the plugin has the configured version and can run on this server."""
    version = specification.version if specification else ""
    if entry.version and version and (problem := find_mismatch(parse_range(entry.version), version)):
        raise RemoteFailed(problem)
    ranges = (entry.requires_server, specification.requires_server if specification else "")
    for required in filter(None, ranges):
        if problem := find_server_mismatch(required, server_version):
            raise RemoteFailed(problem)
