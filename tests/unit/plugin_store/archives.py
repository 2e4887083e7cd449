"""Archives for tests: good ones, and each kind of bad one."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from plugin_store.archive_entries import ArchiveKind
from plugin_store.digests import TreeFile
from plugin_store.extraction import extract
from plugin_store.limits import DEFAULT_LIMITS, Limits

GOOD = {"plugin.yaml": b"name: bq\n", "assets/query.sql": b"select 1;\n"}


def tar_gz(files: Mapping[str, bytes], *, format: int = tarfile.PAX_FORMAT, mode: int = 0o644) -> bytes:
    return tar_of(
        [(_file(name, len(content), mode), content) for name, content in files.items()], format=format
    )


def _file(name: str, size: int, mode: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, mode
    return member


def tar_of(members: Iterable[tuple[tarfile.TarInfo, bytes]], *, format: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=format) as tar:
        for member, content in members:
            tar.addfile(member, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def zip_of(files: Mapping[str, bytes], *, mode: int = 0o100644, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr, entry.compress_type = mode << 16, method
            archive.writestr(entry, content)
    return buffer.getvalue()


def unpack(
    content: bytes, kind: ArchiveKind, folder: Path, limits: Limits = DEFAULT_LIMITS
) -> list[TreeFile]:
    return list(
        extract(io.BytesIO(content), kind=kind, yaml_name="plugin.yaml", folder=folder, limits=limits)
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
