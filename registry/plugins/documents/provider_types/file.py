"""Providers of type `file`: a folder of the installer's machine. Pure."""

from __future__ import annotations

from registry.plugins.documents.diagnostics import Code, Findings, Node
from registry.plugins.documents.paths import read_folder
from registry.plugins.documents.provider_types.provider_type import ProviderType, SettingField


def read_root(node: Node, findings: Findings) -> str | None:
    """Read an absolute folder. Artifacts outside it cannot be addressed."""
    folder = read_folder(node, findings)
    if folder is None or folder.startswith("/"):
        return folder
    findings.error(node.pointer, Code.INVALID_PATH, "The folder must be an absolute path.")
    return None


TYPE = ProviderType(
    name="file", settings={"root": SettingField(read_root, required=True)}, reads_server_files=True
)
