"""Nothing of any archive appears outside its folder; what is accepted is written byte for byte."""

from __future__ import annotations

import tarfile
import tempfile
import unicodedata
import warnings
import zipfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from plugin_store.archive_entries import ArchiveKind
from plugin_store.digests import read_tree
from plugin_store.errors import ArchiveRefused
from tests.unit.plugin_store.archives import contents, tar_of, unpack, zip_of

PARTS = st.one_of(
    st.sampled_from(["a", "b", "A", "..", ".", "", "ü", "u\u0308", "x.", "outside", "C:", "a\\b"]),
    st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=4),
)
NAMES = st.lists(PARTS, min_size=1, max_size=4).map("/".join)
KINDS = st.sampled_from([tarfile.REGTYPE] * 6 + [tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE])
FORMATS = st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
CONTENTS = st.binary(max_size=600)
TAR_ENTRIES = st.lists(st.tuples(NAMES, KINDS, NAMES, CONTENTS), max_size=5)


def member(name: str, kind: bytes, target: str, content: bytes) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
    info.size = len(content) if kind == tarfile.REGTYPE else 0
    return info, content


def expected_name(name: str) -> str:
    return unicodedata.normalize("NFC", name).removeprefix("./")


def check(archive: bytes, kind: ArchiveKind, files: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "outside").write_bytes(b"untouched")
        (root / "deep").mkdir()
        try:
            written = unpack(archive, kind, root / "deep" / "plugin")
        except ArchiveRefused:
            accepted = False
        else:
            accepted = True

        assert {path.name for path in root.iterdir()} == {"outside", "deep"}
        assert (root / "outside").read_bytes() == b"untouched"
        assert [path.name for path in (root / "deep").iterdir()] in ([], ["plugin"])
        assert not any(path.is_symlink() for path in root.rglob("*"))
        if accepted:
            assert contents(root / "deep" / "plugin") == files
            assert sorted(read_tree(root / "deep" / "plugin"), key=repr) == sorted(written, key=repr)


@given(TAR_ENTRIES, FORMATS)
def test_a_tar_stays_inside(entries: list[tuple[str, bytes, str, bytes]], format: int) -> None:
    archive = tar_of([member(*entry) for entry in entries], format=format)

    check(
        archive,
        ArchiveKind.TAR_GZ,
        {expected_name(name): content for name, kind, _, content in entries if kind == tarfile.REGTYPE},
    )


@given(st.dictionaries(NAMES, CONTENTS, max_size=5), st.sampled_from([0o100644, 0o120777, 0]))
def test_a_zip_stays_inside(files: dict[str, bytes], mode: int) -> None:
    check(
        zip_of(files, mode=mode),
        ArchiveKind.ZIP,
        {expected_name(name): content for name, content in files.items() if not name.endswith("/")},
    )


@given(st.data())
def test_an_archive_with_damaged_bytes_is_refused_or_unchanged(data: st.DataObject) -> None:
    files = {"plugin.yaml": b"name: bq\n", "assets/query.sql": b"select 1;\n" * 20}
    kind = data.draw(st.sampled_from([ArchiveKind.TAR_GZ, ArchiveKind.ZIP]))
    whole = (
        tar_of([member(name, tarfile.REGTYPE, "", content) for name, content in files.items()])
        if kind is ArchiveKind.TAR_GZ
        else zip_of(files, method=zipfile.ZIP_STORED)
    )
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(bytes(damaged), kind, files)
