"""Checksums in every usual form, and the digest of a tree."""

from __future__ import annotations

import base64
import hashlib
import subprocess
from pathlib import Path

import pytest

from plugin_store.digests import (
    Checksum,
    TreeFile,
    checksum_in_sidecar,
    parse_checksum,
    read_tree,
    tree_digest,
)
from plugin_store.errors import InvalidChecksum, StoreDamaged

SHA256 = hashlib.sha256(b"x").hexdigest()
SHA512 = hashlib.sha512(b"x").hexdigest()


def sri(algorithm: str) -> str:
    return f"{algorithm}-{base64.b64encode(hashlib.new(algorithm, b'x').digest()).decode()}"


@pytest.mark.parametrize(
    ("text", "checksum"),
    [
        (SHA256, Checksum("sha256", SHA256)),
        (SHA256.upper(), Checksum("sha256", SHA256)),
        (f"sha256:{SHA256}", Checksum("sha256", SHA256)),
        (f"sha512:{SHA512}", Checksum("sha512", SHA512)),
        (sri("sha256"), Checksum("sha256", SHA256)),
        (f"{sri('sha512')} {sri('sha256')}", Checksum("sha512", SHA512)),
    ],
)
def test_a_checksum_in_its_forms(text: str, checksum: Checksum) -> None:
    assert parse_checksum(text) == checksum


@pytest.mark.parametrize(
    "text",
    ["", "x", "md5:" + "0" * 32, SHA256[:-1], f"sha512:{SHA256}", "sha256-!!!", f"{SHA256} x", sri("sha1")],
)
def test_a_bad_checksum_is_refused(text: str) -> None:
    with pytest.raises(InvalidChecksum):
        parse_checksum(text)


@pytest.mark.parametrize(
    "text",
    [
        SHA256,
        f"{SHA256}  a.zip\n",
        f"{SHA256} *./a.zip\n",
        f"SHA256 (a.zip) = {SHA256}\n",
        f"# sums\n{'0' * 64}  b.zip\n{SHA256}  a.zip\n",
    ],
)
def test_a_checksum_beside_the_archive(text: str) -> None:
    assert checksum_in_sidecar(text, "a.zip") == Checksum("sha256", SHA256)


def test_what_sha256sum_writes_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"x")
    (tmp_path / "b.zip").write_bytes(b"y")
    sums = subprocess.run(
        ["sha256sum", "a.zip", "b.zip"], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert checksum_in_sidecar(sums.stdout, "a.zip").digest == SHA256


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<html>404</html>",
        f"{SHA256}  b.zip",
        f"{SHA256}  x/a.zip",
        f"{SHA256}\n{SHA256}",
        f"{SHA256}  a.zip\n{'0' * 64}  a.zip",
        f"{SHA256}  a.zip\nnonsense",
    ],
)
def test_a_file_of_checksums_without_a_usable_line_is_refused(text: str) -> None:
    with pytest.raises(InvalidChecksum):
        checksum_in_sidecar(text, "a.zip")


def test_the_tree_digest_is_that_of_its_definition() -> None:
    files = [TreeFile("b", 0o755, "2" * 64), TreeFile("a/x", 0o644, "1" * 64)]
    text = f"a/x\x000644\0{'1' * 64}\nb\x000755\0{'2' * 64}\n"

    assert tree_digest(files) == hashlib.sha256(text.encode()).hexdigest() == tree_digest(files[::-1])


def test_a_tree_is_read_with_modes_and_refuses_links(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_bytes(b"x")
    (tmp_path / "a" / "x").chmod(0o755)

    assert read_tree(tmp_path) == (TreeFile("a/x", 0o755, SHA256),)
    (tmp_path / "link").symlink_to("a/x")
    with pytest.raises(StoreDamaged, match="a link or a special file"):
        read_tree(tmp_path)
