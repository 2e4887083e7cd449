"""Extraction writes what a good archive has, and refuses everything else; no trace is outside its folder."""

from __future__ import annotations

import gzip
import io
import os
import stat
import struct
import sys
import tarfile
import zipfile
import zlib
from pathlib import Path

import pytest

from plugin_store.archive_entries import ArchiveKind, kind_of
from plugin_store.errors import ArchiveDamaged, ArchiveRefused, ArchiveTooLarge
from plugin_store.limits import Limits
from tests.unit.plugin_store.archives import GOOD, contents, special, tar_gz, tar_of, unpack, zip_of

TAR, ZIP, YAML = ArchiveKind.TAR_GZ, ArchiveKind.ZIP, ArchiveKind.YAML
PACKERS = {TAR: tar_gz, ZIP: zip_of}
FORMATS = [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]
BAD_NAMES = {
    "../x": "'..'",
    "a/../../x": "'..'",
    "a/./x": "'.'",
    "a//x": "empty part",
    "/etc/x": "absolute",
    "C:/x": "absolute",
    "a\\..\\x": "backslash",
    "a/x.": "dot or a space",
    "a/x ": "dot or a space",
    "a\nb": "control character",
    "a/" * 40 + "x": "folders deep",
    "n" * 256: "255 bytes",
    "/".join(["n" * 200] * 6): "1,024 bytes",
}


@pytest.mark.parametrize("format", FORMATS)
def test_a_tar_in_every_format_is_written_byte_for_byte(tmp_path: Path, format: int) -> None:
    files = GOOD | {"l" * 90 + "/" + "n" * 90: b"x" * 100_000, "empty": b""}

    written = unpack(tar_gz(files, format=format), TAR, tmp_path / "plugin")

    assert contents(tmp_path / "plugin") == files
    assert {file.path for file in written} == set(files)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_zip_is_written_byte_for_byte(tmp_path: Path, method: int) -> None:
    files = GOOD | {"größe/x": b"x" * 100_000, "empty": b""}

    unpack(zip_of(files, method=method), ZIP, tmp_path / "plugin")

    assert contents(tmp_path / "plugin") == files


def test_a_zip_that_was_streamed_has_its_sizes_behind_the_content(tmp_path: Path) -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *_: object) -> int:
            raise OSError("a pipe")

        def tell(self) -> int:
            raise OSError("a pipe")

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in GOOD.items():
            archive.writestr(name, content)

    unpack(pipe.getvalue(), ZIP, tmp_path / "plugin")

    assert contents(tmp_path / "plugin") == GOOD


def test_a_bare_yaml_file_is_a_plugin(tmp_path: Path) -> None:
    unpack(b"name: bq\n", YAML, tmp_path / "plugin")

    assert contents(tmp_path / "plugin") == {"plugin.yaml": b"name: bq\n"}


def test_what_tar_writes_for_a_folder_is_accepted(tmp_path: Path) -> None:
    members = [(special(".", tarfile.DIRTYPE), b""), (special("./a", tarfile.DIRTYPE), b"")]
    file = tarfile.TarInfo("./a/x")
    file.size = 1

    unpack(tar_of([*members, (file, b"1")]), TAR, tmp_path / "plugin")

    assert contents(tmp_path / "plugin") == {"a/x": b"1"}


@pytest.mark.parametrize("kind", [TAR, ZIP])
def test_modes_are_reduced_to_two_whatever_the_umask_is(tmp_path: Path, kind: ArchiveKind) -> None:
    mode = 0o6777 if kind is TAR else 0o106777
    before = os.umask(0o077)
    try:
        written = unpack(PACKERS[kind]({"a/run": b"#!"}, mode=mode), kind, tmp_path / "plugin")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "plugin/a/run").stat().st_mode) == 0o755 == written[0].mode
    assert stat.S_IMODE((tmp_path / "plugin/a").stat().st_mode) == 0o755


@pytest.mark.parametrize("kind", [TAR, ZIP])
@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_bad_name_is_refused_and_nothing_is_outside(tmp_path: Path, kind: ArchiveKind, name: str) -> None:
    with pytest.raises(ArchiveRefused, match=BAD_NAMES[name].replace(".", r"\.")):
        unpack(PACKERS[kind]({name: b"x"}), kind, tmp_path / "plugin")

    assert contents(tmp_path) == {}


def test_a_name_with_nul_is_refused_where_zip_readers_would_cut_it(tmp_path: Path) -> None:
    archive = zip_of({"a?b": b"x"}).replace(b"a?b", b"a\0b")

    with pytest.raises(ArchiveRefused, match="control character"):
        unpack(archive, ZIP, tmp_path / "plugin")


@pytest.mark.parametrize("kind", [TAR, ZIP])
@pytest.mark.parametrize(
    ("first", "second"),
    [("a/x", "A/y"), ("Straße", "STRASSE"), ("x", "X"), ("a", "a/b"), ("a/b", "a"), ("ﬁ", "fi")],
)
def test_entries_that_collide_on_some_file_system_are_refused(
    tmp_path: Path, kind: ArchiveKind, first: str, second: str
) -> None:
    with pytest.raises(ArchiveRefused, match=r"upper and lower case|another entry"):
        unpack(PACKERS[kind]({first: b"1", second: b"2"}), kind, tmp_path / "plugin")


def test_names_are_written_in_one_unicode_form(tmp_path: Path) -> None:
    unpack(tar_gz({"u\u0308": b"1"}), TAR, tmp_path / "plugin")

    assert contents(tmp_path / "plugin") == {"ü": b"1"}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (tarfile.SYMTYPE, "symbolic link"),
        (tarfile.LNKTYPE, "hard link"),
        (tarfile.CHRTYPE, "device"),
        (tarfile.BLKTYPE, "device"),
        (tarfile.FIFOTYPE, "FIFO"),
        (tarfile.GNUTYPE_SPARSE, "sparse"),
        (b"V", "unknown type"),
    ],
)
def test_a_tar_entry_that_is_no_file_and_no_folder_is_refused(tmp_path: Path, kind: bytes, text: str) -> None:
    with pytest.raises(ArchiveRefused, match=text):
        unpack(tar_of([(special("x", kind, "plugin.yaml"), b"")]), TAR, tmp_path / "plugin")

    assert not os.path.lexists(tmp_path / "plugin/x")


@pytest.mark.parametrize("name", ["a/", "ü/"])
@pytest.mark.parametrize("format", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_a_file_in_a_tar_with_the_name_of_a_folder_is_refused(tmp_path: Path, name: str, format: int) -> None:
    with pytest.raises(ArchiveRefused, match="name of a folder"):
        unpack(tar_gz({name: b""}, format=format), TAR, tmp_path / "plugin")


def test_a_sparse_file_by_pax_headers_is_refused(tmp_path: Path) -> None:
    file = tarfile.TarInfo("x")
    file.pax_headers = {"GNU.sparse.map": "0,1", "GNU.sparse.size": "1000000"}

    with pytest.raises(ArchiveRefused, match="sparse"):
        unpack(tar_of([(file, b"")]), TAR, tmp_path / "plugin")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO, stat.S_IFDIR])
def test_a_zip_entry_that_is_no_file_and_no_folder_is_refused(tmp_path: Path, kind: int) -> None:
    with pytest.raises(ArchiveRefused, match="it is a"):
        unpack(zip_of({"x": b"/etc/passwd"}, mode=kind | 0o777), ZIP, tmp_path / "plugin")


def trap() -> bytes:
    """A hard link to a symbolic link: each looks harmless at its own place."""
    return tar_of(
        [
            (special("a/b/s", tarfile.SYMTYPE, "../../x"), b""),
            (special("h", tarfile.LNKTYPE, "a/b/s"), b""),
        ]
    )


@pytest.mark.skipif(sys.version_info[:3] != (3, 11, 7), reason="Other releases of Python behave differently.")
def test_the_data_filter_of_tarfile_lets_a_hard_link_to_a_symbolic_link_out(tmp_path: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(trap())) as tar:
        tar.extractall(tmp_path / "plugin", filter="data")

    outside = (tmp_path / "plugin" / os.readlink(tmp_path / "plugin/h")).resolve()
    assert not outside.is_relative_to(tmp_path / "plugin")


def test_extraction_refuses_a_hard_link_to_a_symbolic_link(tmp_path: Path) -> None:
    with pytest.raises(ArchiveRefused, match="symbolic link"):
        unpack(trap(), TAR, tmp_path / "plugin")

    assert not os.path.lexists(tmp_path / "plugin/h")


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    archive = bytearray(zip_of({"x": b"1"}))
    archive[6] |= 1
    archive[archive.find(b"PK\x01\x02") + 8] |= 1

    with pytest.raises(ArchiveRefused, match="it is encrypted"):
        unpack(bytes(archive), ZIP, tmp_path / "plugin")


def test_a_zip_whose_local_name_differs_is_refused(tmp_path: Path) -> None:
    archive = zip_of({"x": b"1"}).replace(b"x", b"y", 1)

    with pytest.raises(ArchiveRefused, match="local header has the name b'y'"):
        unpack(archive, ZIP, tmp_path / "plugin")


def test_a_zip_whose_local_size_differs_is_refused(tmp_path: Path) -> None:
    archive = bytearray(zip_of({"x": b"1"}, method=zipfile.ZIP_STORED))
    struct.pack_into("<L", archive, 22, 7)

    with pytest.raises(ArchiveRefused, match="contradicts the central directory"):
        unpack(bytes(archive), ZIP, tmp_path / "plugin")


def test_a_zip_entry_hidden_between_others_is_refused(tmp_path: Path) -> None:
    """A local entry that the central directory does not name: readers of streams would write it."""
    archive = zip_of({"x": b"1"}, method=zipfile.ZIP_STORED)
    entry_end = archive.find(b"PK\x01\x02")
    hidden = zip_of({"evil": b"2"}, method=zipfile.ZIP_STORED)
    hidden = hidden[: hidden.find(b"PK\x01\x02")]
    end = bytearray(archive[entry_end:])
    position = end.find(b"PK\x05\x06")
    struct.pack_into("<L", end, position + 16, entry_end + len(hidden))

    with pytest.raises(ArchiveRefused, match="hidden bytes"):
        unpack(archive[:entry_end] + hidden + bytes(end), ZIP, tmp_path / "plugin")


def test_a_zip_with_overlapping_entries_is_refused(tmp_path: Path) -> None:
    """Many entries of one content: a bomb without nesting."""
    archive = bytearray(zip_of({"a": b"1", "b": b"1"}))
    second = archive.rfind(b"PK\x01\x02")
    struct.pack_into("<L", archive, second + 42, 0)

    with pytest.raises(ArchiveRefused, match="overlaps"):
        unpack(bytes(archive), ZIP, tmp_path / "plugin")


def changed_zip(local: int, central: int, format: str, value: int, content: bytes = b"1") -> bytes:
    """A zip of one file `x`, with one field changed in its local header and in the central directory."""
    archive = bytearray(zip_of({"x": content}))
    struct.pack_into(format, archive, local, value)
    struct.pack_into(format, archive, archive.find(b"PK\x01\x02") + central, value)
    return bytes(archive)


def test_a_zip_that_states_more_than_it_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArchiveDamaged, match="another size"):
        unpack(changed_zip(22, 24, "<L", 9), ZIP, tmp_path / "plugin")


def test_a_zip_in_front_of_which_is_a_program_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArchiveDamaged, match="contradicts the file"):
        unpack(b"#!/bin/sh\n" + zip_of(GOOD), ZIP, tmp_path / "plugin")


def test_a_zip_with_hidden_bytes_in_front_of_its_entries_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO(b"#!/bin/sh\n")
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("x", b"1")

    with pytest.raises(ArchiveRefused, match="hides bytes in front"):
        unpack(buffer.getvalue(), ZIP, tmp_path / "plugin")


def test_a_zip_that_states_fewer_entries_than_it_has_is_refused(tmp_path: Path) -> None:
    archive = bytearray(zip_of(GOOD))
    struct.pack_into("<HH", archive, archive.rfind(b"PK\x05\x06") + 8, 1, 1)

    with pytest.raises(ArchiveDamaged, match="another number of entries"):
        unpack(bytes(archive), ZIP, tmp_path / "plugin")


def test_a_zip64_archive_is_refused(tmp_path: Path) -> None:
    archive = zip_of(GOOD)
    end = archive.rfind(b"PK\x05\x06")

    with pytest.raises(ArchiveTooLarge, match="zip64"):
        unpack(archive[:end] + b"PK\x06\x07" + bytes(16) + archive[end:], ZIP, tmp_path / "plugin")


def test_a_zip_entry_with_a_second_name_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        entry = zipfile.ZipInfo("x")
        entry.extra = struct.pack("<HHBL", 0x7075, 9, 1, 0) + b"evil"
        archive.writestr(entry, b"1")

    with pytest.raises(ArchiveRefused, match="second name"):
        unpack(buffer.getvalue(), ZIP, tmp_path / "plugin")


def test_a_name_of_unknown_encoding_is_refused(tmp_path: Path) -> None:
    archive = bytearray(zip_of({"ü": b"1"}))
    for position in (6, archive.find(b"PK\x01\x02") + 8):
        struct.pack_into("<H", archive, position, 0)

    with pytest.raises(ArchiveRefused, match="not marked as UTF-8"):
        unpack(bytes(archive), ZIP, tmp_path / "plugin")


def test_a_folder_with_content_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArchiveRefused, match="folder with content"):
        unpack(zip_of({"a/": b"1", "x": b"1"}, mode=0), ZIP, tmp_path / "plugin")


def test_a_comment_of_a_zip_is_accepted(tmp_path: Path) -> None:
    buffer = io.BytesIO(zip_of(GOOD))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = b"the commit"

    unpack(buffer.getvalue(), ZIP, tmp_path / "plugin")

    assert contents(tmp_path / "plugin") == GOOD


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_rare_methods_of_compression_are_refused(tmp_path: Path, method: int) -> None:
    with pytest.raises(ArchiveRefused, match="another method"):
        unpack(zip_of({"x": b"1"}, method=method), ZIP, tmp_path / "plugin")


@pytest.mark.parametrize("kind", [TAR, ZIP])
def test_a_bomb_is_refused_by_its_ratio(tmp_path: Path, kind: ArchiveKind) -> None:
    with pytest.raises(ArchiveTooLarge, match="100 times"):
        unpack(PACKERS[kind]({"zeros": bytes(20_000_000)}), kind, tmp_path / "plugin")

    assert sum(map(len, contents(tmp_path).values())) < 3_000_000


def test_a_bomb_behind_the_end_of_a_tar_is_refused(tmp_path: Path) -> None:
    archive = gzip.compress(gzip.decompress(tar_gz(GOOD)) + bytes(20_000_000))

    with pytest.raises(ArchiveTooLarge, match="100 times"):
        unpack(archive, TAR, tmp_path / "plugin")


def test_a_size_that_a_zip_states_is_not_trusted(tmp_path: Path) -> None:
    """One that states ten bytes and has many more: what is read counts, and the CRC differs."""
    archive = bytearray(zip_of({"x": os.urandom(50_000)}))
    for position in (22, archive.find(b"PK\x01\x02") + 24):
        struct.pack_into("<L", archive, position, 10)

    with pytest.raises(ArchiveDamaged):
        unpack(bytes(archive), ZIP, tmp_path / "plugin")


@pytest.mark.parametrize("kind", [TAR, ZIP])
@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (Limits(entries=2), "more than 2 files"),
        (Limits(file_bytes=9), "more than 9 bytes"),
        (Limits(total_bytes=15), "more than 15 bytes together"),
        (Limits(archive_bytes=50), "more than 50 bytes"),
    ],
)
def test_every_limit_holds(tmp_path: Path, kind: ArchiveKind, limits: Limits, text: str) -> None:
    files = {"a/b": b"12345678", "c": b"1234567890"}

    with pytest.raises(ArchiveTooLarge, match=text):
        unpack(PACKERS[kind](files), kind, tmp_path / "plugin", limits)


def test_a_folder_that_a_tar_repeats_counts_each_time(tmp_path: Path) -> None:
    members = [(special("a", tarfile.DIRTYPE), b"")] * 4

    with pytest.raises(ArchiveTooLarge, match="more than 3 files"):
        unpack(tar_of(members), TAR, tmp_path / "plugin", Limits(entries=3))


def test_long_extension_headers_of_a_tar_are_refused_before_they_are_read(tmp_path: Path) -> None:
    file = tarfile.TarInfo("x")
    file.pax_headers = {"comment": "c" * 5_000}

    with pytest.raises(ArchiveTooLarge, match="extension header"):
        unpack(tar_of([(file, b"")]), TAR, tmp_path / "plugin")


@pytest.mark.parametrize("kind", [TAR, ZIP])
@pytest.mark.parametrize("inner", [zip_of(GOOD), tar_gz(GOOD), gzip.decompress(tar_gz(GOOD))])
def test_an_archive_in_an_archive_is_refused(tmp_path: Path, kind: ArchiveKind, inner: bytes) -> None:
    with pytest.raises(ArchiveRefused, match="archive itself"):
        unpack(PACKERS[kind]({"inner": inner}), kind, tmp_path / "plugin")


@pytest.mark.parametrize("kind", list(ArchiveKind))
@pytest.mark.parametrize("page", [b"<!DOCTYPE html><title>404</title>", b"\n <html>Not Found</html>"])
def test_an_error_page_is_no_archive(tmp_path: Path, kind: ArchiveKind, page: bytes) -> None:
    with pytest.raises(ArchiveDamaged, match=r"web page.*server probably sent an error page"):
        unpack(page, kind, tmp_path / "plugin")


@pytest.mark.parametrize("kind", [TAR, ZIP])
def test_a_truncated_archive_is_refused_wherever_it_ends(tmp_path: Path, kind: ArchiveKind) -> None:
    whole = PACKERS[kind](GOOD)

    for length in [*range(0, len(whole) - 1, 7), len(whole) - 1]:
        with pytest.raises(ArchiveDamaged):
            unpack(whole[:length], kind, tmp_path / str(length))


def test_a_tar_without_its_end_is_refused_where_tarfile_takes_it_for_complete(tmp_path: Path) -> None:
    plain = gzip.decompress(tar_gz({"a": b"1", "b": b"2"}, format=tarfile.USTAR_FORMAT))
    cut = gzip.compress(plain[:1024])
    with tarfile.open(fileobj=io.BytesIO(cut)) as tar:
        assert tar.getnames() == ["a"]

    with pytest.raises(ArchiveDamaged, match="missing or damaged"):
        unpack(cut, TAR, tmp_path / "plugin")


def test_a_tar_with_a_damaged_header_is_refused_where_tarfile_stops(tmp_path: Path) -> None:
    plain = bytearray(gzip.decompress(tar_gz({"a": b"1", "b": b"2"}, format=tarfile.USTAR_FORMAT)))
    plain[1024] ^= 0xFF

    with pytest.raises(ArchiveDamaged, match="missing or damaged"):
        unpack(gzip.compress(bytes(plain)), TAR, tmp_path / "plugin")


def test_a_second_tar_behind_the_end_marker_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArchiveDamaged, match="behind its end marker"):
        unpack(tar_gz(GOOD) + tar_gz({"evil": b"1"}), TAR, tmp_path / "plugin")


def test_a_damaged_byte_is_found_by_the_checksum_of_gzip(tmp_path: Path) -> None:
    plain = gzip.decompress(tar_gz(GOOD))
    packer = zlib.compressobj(0, wbits=31)
    archive = bytearray(packer.compress(plain) + packer.flush())
    archive[archive.find(b"select")] ^= 1

    with pytest.raises(ArchiveDamaged):
        unpack(bytes(archive), TAR, tmp_path / "plugin")


@pytest.mark.parametrize("kind", [TAR, ZIP])
def test_an_archive_without_files_is_refused(tmp_path: Path, kind: ArchiveKind) -> None:
    with pytest.raises(ArchiveDamaged):
        unpack(PACKERS[kind]({}), kind, tmp_path / "plugin")


def test_formats_are_known_by_their_suffix() -> None:
    names = {"a.tar.gz": TAR, "a.tgz": TAR, "a.zip": ZIP, "a.yaml": YAML}

    assert {name: kind_of(name) for name in names} == names
    with pytest.raises(ArchiveRefused, match=r"\.tar\.gz, \.tgz, \.zip, \.yaml"):
        kind_of("a.rar")
