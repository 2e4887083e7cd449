"""Signatures by Ed25519, as OpenSSL and the cryptography package make them, under each policy."""

from __future__ import annotations

import base64
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from plugin_store.errors import InstallationFailed, SignatureMethodUnavailable, SignatureRejected
from plugin_store.generations import load_manifest
from plugin_store.installation import install
from plugin_store.plugin_requests import InstallOptions
from plugin_store.signatures import (
    Signature,
    SignatureCheck,
    SignatureMethod,
    SignaturePolicy,
    SignatureRules,
    check_signature,
)
from tests.support.paths import ROOT
from tests.unit.plugin_store.installations import NOW, Bytes, install_version, request

KEY = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
PUBLIC = base64.b64encode(KEY.public_key().public_bytes_raw()).decode()
REQUIRE = SignatureRules(SignaturePolicy.REQUIRE, {"release": PUBLIC})
WARN = SignatureRules(SignaturePolicy.WARN, {"release": PUBLIC})


def signed(content: bytes) -> Signature:
    return Signature("release", base64.b64encode(KEY.sign(content)).decode())


def check(folder: Path, signature: Signature | None, rules: SignatureRules) -> SignatureCheck:
    path = folder / "archive"
    path.write_bytes(b"content")
    with path.open("rb") as archive:
        return check_signature(archive, signature, rules)


def test_a_valid_signature_names_its_key(tmp_path: Path) -> None:
    assert check(tmp_path, signed(b"content"), REQUIRE) == SignatureCheck(signed_by="release")


REJECTED = {
    "no signature": None,
    "is invalid": signed(b"other"),
    "is not trusted": Signature("stranger", signed(b"content").value),
    "not 64 bytes": Signature("release", "AAAA"),
    "not installed": Signature("release", "", SignatureMethod.SIGSTORE),
}


@pytest.mark.parametrize("text", REJECTED)
def test_a_bad_signature_is_rejected_warned_of_or_ignored_by_policy(tmp_path: Path, text: str) -> None:
    signature = REJECTED[text]

    with pytest.raises(SignatureRejected, match=text):
        check(tmp_path, signature, REQUIRE)
    assert text in check(tmp_path, signature, WARN).warning
    assert check(tmp_path, signature, SignatureRules()) == SignatureCheck()


def test_sigstore_is_named_but_not_available(tmp_path: Path) -> None:
    with pytest.raises(SignatureMethodUnavailable, match="Sign it with Ed25519"):
        check(tmp_path, REJECTED["not installed"], REQUIRE)


def test_a_signature_by_openssl_is_valid(tmp_path: Path) -> None:
    def openssl(*arguments: str) -> bytes:
        return subprocess.run(["openssl", *arguments], cwd=tmp_path, capture_output=True, check=True).stdout

    (tmp_path / "archive").write_bytes(b"content")
    openssl("genpkey", "-algorithm", "ed25519", "-out", "key.pem")
    public = openssl("pkey", "-in", "key.pem", "-pubout", "-outform", "DER")[-32:]
    value = openssl("pkeyutl", "-sign", "-inkey", "key.pem", "-rawin", "-in", "archive")
    rules = SignatureRules(SignaturePolicy.REQUIRE, {"openssl": base64.b64encode(public).decode()})

    result = check(tmp_path, Signature("openssl", base64.b64encode(value).decode()), rules)

    assert result.signed_by == "openssl"


def test_without_the_cryptography_package_the_error_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(SignatureMethodUnavailable, match="pip install cryptography"):
        check(tmp_path, signed(b"content"), REQUIRE)


def test_the_store_is_imported_without_the_cryptography_package() -> None:
    program = (
        "import plugin_store.installation, plugin_store.cleaning, sys; print('cryptography' in sys.modules)"
    )

    result = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert result.stdout == "False\n"


def test_an_unsigned_plugin_is_not_installed_where_signatures_are_required(tmp_path: Path) -> None:
    with pytest.raises(InstallationFailed, match="no signature"):
        install(tmp_path, [request("bq2bq", "1")], now=NOW, options=InstallOptions(signatures=REQUIRE))


def test_a_plugin_that_was_installed_unsigned_is_verified_once_signatures_are_required(
    tmp_path: Path,
) -> None:
    install_version(tmp_path, "1")
    options = InstallOptions(signatures=REQUIRE)

    with pytest.raises(InstallationFailed, match="no signature"):
        install(tmp_path, [request("bq2bq", "1")], now=NOW, options=options)
    wanted = request("bq2bq", "1")
    assert isinstance(wanted.source, Bytes)
    signature = signed(wanted.source.content)
    for opened in (1, 1):
        install(
            tmp_path,
            [request("bq2bq", "1", source=wanted.source, signature=signature)],
            now=NOW,
            options=options,
        )
        assert wanted.source.opened == opened

    assert load_manifest(tmp_path).current.plugins[0].signed_by == "release"


def test_a_warning_is_reported_by_each_run(tmp_path: Path) -> None:
    options = InstallOptions(signatures=WARN)

    for text in ("no signature", "without a signature"):
        report = install(tmp_path, [request("bq2bq", "1")], now=NOW, options=options)
        assert text in report.warnings["bq2bq"]
