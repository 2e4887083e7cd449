"""Reading plugin configurations: the RFC's example, and each rule at its place."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path

import pytest

from registry.plugins.documents.canonical import canonical_json, digest
from registry.plugins.documents.configuration import (
    check_locked,
    read_configuration,
    read_configuration_value,
)
from registry.plugins.documents.content import Configuration, SignaturePolicy, Verification, to_document
from registry.plugins.documents.diagnostics import Code, Diagnostic
from registry.plugins.documents.reading import MAX_BYTES

GOLDEN = Path(__file__).parent / "golden"
DIGEST = "sha256:" + "ab" * 32
URL = {"name": "web", "type": "url", "url": "https://plugins.example"}
GCS = {"name": "bucket", "type": "gcs", "bucket": "team-plugins"}
S3 = {"name": "store", "type": "s3", "bucket": "team-plugins"}
ENTRY = {"provider": "web", "output": "bq2bq", "path": "bq2bq.zip", "checksum": DIGEST}
ED25519 = base64.b64encode(bytes(32)).decode()


def document(provider=None, entry=None, **members):
    provider = URL if provider is None else provider
    entries = [{**ENTRY, "provider": provider.get("name", "web"), **(entry or {})}]
    return {"plugins": {"providers": [provider], "plugins": entries, **members}}


def errors(value) -> list[tuple[str, str]]:
    return [(str(error.code), error.path) for error in read_configuration_value(value).errors]


def configuration(value) -> Configuration:
    reading = read_configuration_value(value)
    assert reading.errors == ()
    return reading.content.configuration


def provider_errors(**fields) -> list[tuple[str, str]]:
    return relative(errors(document({**URL, **fields})), "/plugins/providers/0")


def entry_errors(**fields) -> list[tuple[str, str]]:
    return relative(errors(document(entry=fields)), "/plugins/plugins/0")


def relative(found, prefix):
    return [(code, path.removeprefix(prefix)) for code, path in found]


def at(diagnostic: Diagnostic) -> tuple[str, int, int, str]:
    return (str(diagnostic.code), diagnostic.line, diagnostic.column, diagnostic.path)


class TestTheRfc:
    def test_as_printed_it_has_seven_placeholders_and_no_other_diagnostic(self):
        reading = read_configuration((GOLDEN / "rfc_as_printed.yaml").read_text())

        assert reading.content is None
        assert [at(diagnostic) for diagnostic in reading.diagnostics] == [
            ("placeholder", 7, 10, "/plugins/providers/0/url"),
            ("placeholder", 11, 13, "/plugins/providers/1/bucket"),
            ("placeholder", 12, 23, "/plugins/providers/1/service_account"),
            ("placeholder", 16, 13, "/plugins/plugins/0/output"),
            ("placeholder", 17, 12, "/plugins/plugins/0/path"),
            ("placeholder", 20, 13, "/plugins/plugins/1/output"),
            ("placeholder", 21, 12, "/plugins/plugins/1/path"),
        ]

    def test_with_values_it_is_valid_and_normalised(self):
        reading = read_configuration((GOLDEN / "rfc_filled_in.yaml").read_text())

        assert reading.errors == ()
        assert [at(warning)[:3] for warning in reading.warnings] == [("checksum_missing", 15, 5)]
        expected = json.loads((GOLDEN / "rfc_normalised.json").read_text())
        assert to_document(reading.content.configuration) == expected

    def test_its_service_account_becomes_a_secret_and_a_reference(self):
        reading = read_configuration((GOLDEN / "rfc_filled_in.yaml").read_text())

        (secret,) = reading.content.secrets
        assert json.loads(secret.value)["private_key"] == "hunter2hunter2"
        assert secret.pointer == "/plugins/providers/1/service_account"
        assert reading.content.configuration.providers[1].auth.secret_ref == secret.name
        assert "hunter2" not in repr(reading)


class TestProviders:
    @pytest.mark.parametrize("value", [URL, GCS, S3, {"name": "disk", "type": "file", "root": "/plugins"}])
    def test_each_type_is_valid_with_its_own_address(self, value):
        assert errors(document(value)) == []

    @pytest.mark.parametrize(
        ("value", "missing"), [(URL, "url"), (GCS, "bucket"), (S3, "bucket"), (URL, "name"), (URL, "type")]
    )
    def test_required_fields(self, value, missing):
        without = {name: field for name, field in value.items() if name != missing}

        assert ("required", "/plugins/providers/0") in errors(document(without))

    def test_a_field_of_another_type_is_unknown(self):
        assert provider_errors(bucket="team-plugins") == [("unknown_field", "/bucket")]

    def test_an_unknown_field_names_the_closest_one(self):
        (error,) = read_configuration_value(document({**URL, "retris": 1})).errors

        assert error.hint == "Did you mean retries?"

    def test_an_unknown_type_names_the_closest_one(self):
        reading = read_configuration_value(document({**GCS, "type": "gsc"}))

        assert [(error.path, error.hint) for error in reading.errors] == [
            ("/plugins/providers/0/type", "Did you mean gcs?")
        ]

    def test_names_are_unique(self):
        value = {"plugins": {"providers": [URL, {**GCS, "name": "web"}], "plugins": []}}

        assert errors(value) == [("duplicate", "/plugins/providers/1/name")]

    @pytest.mark.parametrize(
        "url",
        [
            "ftp://plugins.example",
            "plugins.example",
            "https://",
            "https://host:port",
            "https://host:70000",
            "https://a b",
            "https://host\\@other",
        ],
    )
    def test_invalid_addresses(self, url):
        assert provider_errors(url=url) == [("invalid_value", "/url")]

    @pytest.mark.parametrize(
        "url", ["https://me@host", "https://me:pw@host", "https://host?token=x", "https://host#x"]
    )
    def test_credentials_in_addresses(self, url):
        assert provider_errors(url=url) == [("inline_secret", "/url")]

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("timeout", "2h"),
            ("timeout", "0s"),
            ("timeout", "soon"),
            ("retries", 11),
            ("retries", -1),
            ("retries", True),
            ("caBundle", "no certificate"),
            ("name", "Upper"),
        ],
    )
    def test_invalid_values(self, field, value):
        assert ("invalid_value", f"/{field}") in provider_errors(**{field: value})

    @pytest.mark.parametrize("prefix", ["../x", "/x", "a//b", "a/%2e%2e/b"])
    def test_prefixes_stay_below_the_address(self, prefix):
        assert provider_errors(prefix=prefix) == [("invalid_path", "/prefix")]

    def test_values_are_normalised(self):
        value = document({**URL, "url": "https://host/", "prefix": "a/b/", "timeout": "90s", "retries": 0})

        (provider,) = configuration(value).providers
        assert (provider.settings, provider.prefix, provider.timeout, provider.retries) == (
            {"url": "https://host"},
            "a/b",
            "1m30s",
            0,
        )

    @pytest.mark.parametrize("root", ["plugins", "/", "/plugins/../etc"])
    def test_folders_are_absolute_and_not_the_root(self, root):
        value = document({"name": "disk", "type": "file", "root": root})

        assert errors(value) == [("invalid_path", "/plugins/providers/0/root")]

    @pytest.mark.parametrize("bucket", ["gs://team", "Team", "ab", "a..b", "team/folder"])
    def test_names_of_buckets(self, bucket):
        assert errors(document({**GCS, "bucket": bucket})) == [
            ("invalid_value", "/plugins/providers/0/bucket")
        ]


class TestAuthentication:
    @pytest.mark.parametrize(
        ("provider", "auth"),
        [
            (URL, None),
            (URL, {"type": "none"}),
            (URL, {"type": "basic", "username": "me", "secretRef": "team/password"}),
            (URL, {"type": "bearer", "env": "PLUGIN_TOKEN"}),
            (URL, {"type": "header", "header": "X-Api-Key", "file": "/run/secrets/key"}),
            (S3, {"type": "aws"}),
            (S3, {"type": "aws", "secretRef": "aws"}),
            (GCS, {"type": "gcp"}),
        ],
    )
    def test_valid_forms(self, provider, auth):
        assert errors(document({**provider, "auth": auth})) == []

    @pytest.mark.parametrize(
        ("auth", "path"),
        [
            ({"type": "bearer"}, ""),
            ({"type": "bearer", "env": "A", "secretRef": "b"}, ""),
            ({"type": "none", "env": "A"}, ""),
            ({"type": "basic", "secretRef": "b"}, ""),
            ({"type": "header", "secretRef": "b"}, ""),
            ({"type": "bearer", "secretRef": "b", "username": "me"}, "/username"),
            ({"type": "basic", "secretRef": "b", "username": "me", "header": "X-Key"}, "/header"),
            ({"type": "basic", "secretRef": "b", "username": "a:b"}, "/username"),
            ({"type": "bearer", "secretRef": "Not A Name"}, "/secretRef"),
            ({"type": "bearer", "env": "1A"}, "/env"),
            ({"type": "bearer", "file": "relative"}, "/file"),
            ({"type": "bearer", "file": "/a/../b"}, "/file"),
            ({"type": "header", "secretRef": "b", "header": "Host"}, "/header"),
            ({"type": "header", "secretRef": "b", "header": "X Key"}, "/header"),
            ({"type": "aws"}, "/type"),
        ],
    )
    def test_invalid_forms(self, auth, path):
        assert provider_errors(auth=auth) == [("invalid_auth", f"/auth{path}")]

    def test_an_unknown_type_and_a_missing_one(self):
        assert provider_errors(auth={"type": "baerer", "env": "A"}) == [("invalid_value", "/auth/type")]
        assert provider_errors(auth={"env": "A"}) == [("required", "/auth")]

    @pytest.mark.parametrize("field", ["password", "token", "accessKey", "private_key", "client_secret"])
    def test_inline_secrets_are_refused(self, field):
        auth = {"type": "bearer", "secretRef": "b", field: "hunter2hunter2"}

        assert provider_errors(auth=auth) == [("inline_secret", f"/auth/{field}")]

    def test_credentials_over_http_are_a_warning(self):
        provider = {**URL, "url": "http://host", "auth": {"type": "bearer", "env": "A"}}

        (warning,) = read_configuration_value(document(provider)).warnings
        assert (warning.code, warning.path) == (Code.INSECURE_AUTH, "/plugins/providers/0/url")

    @pytest.mark.parametrize(
        ("provider", "auth", "is_platform"),
        [
            (URL, None, False),
            (S3, {"type": "aws"}, True),
            (S3, {"type": "aws", "secretRef": "b"}, False),
            (URL, {"type": "bearer", "env": "A"}, True),
            (URL, {"type": "bearer", "file": "/a"}, True),
        ],
    )
    def test_the_platforms_own_identity_is_recognised(self, provider, auth, is_platform):
        (read,) = configuration(document({**provider, "auth": auth})).providers

        assert read.auth.uses_platform_identity is is_platform


class TestServiceAccounts:
    KEY = base64.b64encode(b'{"type": "service_account"}').decode()

    def test_the_key_may_be_wrapped(self):
        key = f"{self.KEY[:10]}\n  {self.KEY[10:]}"

        (secret,) = read_configuration_value(document({**GCS, "service_account": key})).content.secrets
        assert secret.value == '{"type": "service_account"}'

    @pytest.mark.parametrize("key", ["no base64!", "e3!0=", base64.b64encode(b"[1]").decode(), 7])
    def test_invalid_keys(self, key):
        assert errors(document({**GCS, "service_account": key})) == [
            ("invalid_value", "/plugins/providers/0/service_account")
        ]

    def test_only_google_has_it(self):
        assert provider_errors(service_account=self.KEY) == [("inline_secret", "/service_account")]

    def test_it_excludes_other_authentication(self):
        value = {**GCS, "service_account": self.KEY, "auth": {"type": "gcp"}}

        assert errors(document(value)) == [("invalid_auth", "/plugins/providers/0/auth")]


class TestPlugins:
    @pytest.mark.parametrize("missing", ["provider", "output", "path"])
    def test_required_fields(self, missing):
        assert entry_errors(**{missing: None}) == [("required", "")]

    @pytest.mark.parametrize("output", ["a", "a1", "a.b", "a_b-c", "a" * 63])
    def test_valid_names(self, output):
        assert entry_errors(output=output) == []

    @pytest.mark.parametrize("output", ["a.", "a-", "a..b", ".a", "-a", "A", "a/b", "a" * 64, "ä", "a\n"])
    def test_invalid_names(self, output):
        assert entry_errors(output=output) == [("invalid_value", "/output")]

    def test_outputs_are_unique_even_beside_other_errors(self):
        value = document()
        value["plugins"]["plugins"].append({**ENTRY, "path": "../bq2bq.zip"})

        assert sorted(errors(value)) == [
            ("duplicate", "/plugins/plugins/1/output"),
            ("invalid_path", "/plugins/plugins/1/path"),
        ]

    def test_an_unknown_provider_names_the_closest_one(self):
        (error,) = read_configuration_value(document(entry={"provider": "wep"})).errors

        assert (error.code, error.path) == (Code.UNKNOWN_PROVIDER, "/plugins/plugins/0/provider")
        assert error.hint == "Did you mean web?"

    @pytest.mark.parametrize("path", ["a.tar.gz", "a.tgz", "folder/a.zip", "a.yaml"])
    def test_valid_paths(self, path):
        assert entry_errors(path=path) == []

    @pytest.mark.parametrize(
        "path",
        [
            "../a.zip",
            "a/../../b.zip",
            "/a.zip",
            "C:/a.zip",
            "a\\b.zip",
            "a//b.zip",
            "./a.zip",
            "%2e%2e/a.zip",
            "%252e%252e/a.zip",
            "%2Fetc/a.zip",
            "a.zip?x=.zip",
            "a.rar",
            "a.tar",
            ".zip",
            "folder/.tar.gz",
            "a.zip/",
        ],
    )
    def test_invalid_paths(self, path):
        assert entry_errors(path=path) == [("invalid_path", "/path")]

    @pytest.mark.parametrize(
        ("field", "value", "code"),
        [
            ("checksum", "md5:00", "invalid_value"),
            ("checksum", "sha256:abc", "invalid_value"),
            ("enabled", "yes", "invalid_type"),
            ("version", 1.2, "unquoted_version"),
            ("version", 3, "unquoted_version"),
            ("version", ">=1.2,<banana", "invalid_version"),
            ("requires_server", "=>1", "invalid_version"),
            ("signatur", {}, "unknown_field"),
        ],
    )
    def test_invalid_values(self, field, value, code):
        assert entry_errors(**{field: value}) == [(code, f"/{field}")]

    def test_checksums_are_normalised(self):
        sri = "sha256-" + base64.b64encode(bytes.fromhex("ab" * 32)).decode()

        (entry,) = configuration(document(entry={"checksum": sri})).plugins
        assert entry.checksum == DIGEST


class TestVerification:
    def test_a_checksum_is_the_proof(self):
        (entry,) = configuration(document()).plugins

        assert entry.verification is Verification.CHECKSUM
        assert read_configuration_value(document()).warnings == ()

    def test_without_one_the_provider_must_publish_it(self):
        reading = read_configuration_value(document(entry={"checksum": None}))

        assert [warning.code for warning in reading.warnings] == [Code.CHECKSUM_MISSING]
        assert reading.content.configuration.plugins[0].verification is Verification.PUBLISHED_CHECKSUM

    def test_other_types_warn_only_where_installations_are_locked(self):
        reading = read_configuration_value(document(GCS, {"checksum": None}))

        assert reading.warnings == ()
        (error,) = check_locked(reading.content.configuration)
        assert (error.code, error.path) == (Code.CHECKSUM_MISSING, "/plugins/plugins/0")

    def test_a_disabled_plugin_needs_none(self):
        read = configuration(document(GCS, {"checksum": None, "enabled": False}))

        assert check_locked(read) == ()

    def test_a_reason_allows_none(self):
        fields = {"checksum": None, "allow_unverified": True, "reason": "nightly build"}

        read = configuration(document(entry=fields))
        assert read.plugins[0].verification is Verification.NONE
        assert check_locked(read) == ()

    @pytest.mark.parametrize(
        ("fields", "expected"),
        [
            ({"checksum": None, "allow_unverified": True}, ("required", "")),
            ({"reason": "because"}, ("invalid_value", "/reason")),
            ({"allow_unverified": True, "reason": "x"}, ("invalid_value", "/allow_unverified")),
        ],
    )
    def test_the_reason_and_the_exception_belong_together(self, fields, expected):
        assert entry_errors(**fields) == [expected]


class TestSignatures:
    SIGSTORE = {"type": "sigstore", "identity": "release@team.example", "issuer": "https://issuer.example"}

    def test_required_is_the_default_policy(self):
        (entry,) = configuration(document(entry={"signature": self.SIGSTORE})).plugins

        assert entry.signature.policy is SignaturePolicy.REQUIRE

    def test_off_is_a_word_of_yaml_1_2(self):
        text = f"plugins: {{providers: [{json.dumps(URL)}], plugins: [{json.dumps(ENTRY)}]}}"
        text = text.replace('"checksum"', '"signature": {policy: off}, "checksum"')

        (entry,) = read_configuration(text).content.configuration.plugins
        assert entry.signature.policy is SignaturePolicy.OFF

    @pytest.mark.parametrize("key", [ED25519, base64.b64encode(b"Ed" + bytes(40)).decode()])
    def test_keys_of_ed25519_and_minisign(self, key):
        assert entry_errors(signature={"type": "ed25519", "publicKey": key}) == []

    @pytest.mark.parametrize(
        ("signature", "expected"),
        [
            ({"policy": "must"}, [("invalid_value", "/policy"), ("required", "")]),
            ({"policy": "warn"}, [("required", "")]),
            ({"type": "sigstore"}, [("required", ""), ("required", "")]),
            ({"type": "ed25519"}, [("required", "")]),
            ({"type": "ed25519", "publicKey": "AAAA"}, [("invalid_value", "/publicKey")]),
            ({"policy": "off", "type": "sigstore"}, [("invalid_value", "/type")]),
            ({**SIGSTORE, "publicKey": ED25519}, [("invalid_value", "/publicKey")]),
            ({**SIGSTORE, "path": "../x.sig"}, [("invalid_path", "/path")]),
        ],
    )
    def test_invalid_signatures(self, signature, expected):
        found = relative(entry_errors(signature=signature), "/signature")

        assert sorted(found) == sorted(expected)


class TestVariables:
    def test_texts_numbers_and_booleans(self):
        config = {
            "executor_image": "host/a:1",
            "retries": 3,
            "debug": True,
            "empty": "",
            "executor_version": "3.10",
        }

        assert configuration(document(entry={"config": config})).plugins[0].config == config

    @pytest.mark.parametrize(
        ("config", "code"),
        [
            ({"executor_version": 3.10}, "unquoted_version"),
            ({"executor_version": 3}, "unquoted_version"),
            ({"ratio": 0.5}, "invalid_type"),
            ({"nested": {"a": 1}}, "invalid_type"),
            ({"nothing": None}, "invalid_type"),
            ({"a-b": "x"}, "invalid_value"),
            ({"executor_image": "not an image"}, "invalid_image"),
            ({"init_image": "UPPER"}, "invalid_image"),
            ({"api_token": "x"}, "inline_secret"),
            ({"dbPassword": "x"}, "inline_secret"),
            ({"dsn": "postgres://me:pw@host/db"}, "inline_secret"),
            ({"key": "-----BEGIN RSA PRIVATE KEY-----"}, "inline_secret"),
            ({"blob": base64.b64encode(b'{"type": "service_account"}').decode()}, "inline_secret"),
            ({"lines": "a\nb"}, "invalid_value"),
            ({"image": "<image>"}, "placeholder"),
        ],
    )
    def test_invalid_variables(self, config, code):
        assert entry_errors(config=config) == [(code, f"/config/{next(iter(config))}")]

    def test_a_mutable_init_image_is_a_warning(self):
        reading = read_configuration_value(document(entry={"config": {"init_image": "host/boot:latest"}}))

        assert [warning.code for warning in reading.warnings] == [Code.MUTABLE_IMAGE]


class TestTheDocument:
    @pytest.mark.parametrize("location", ["", None, ".plugins", ".plugins/"])
    def test_an_empty_location_is_the_default(self, location):
        assert configuration(document(install_location=location)).install_location == ".plugins"

    @pytest.mark.parametrize("location", ["../plugins", "/", "a/../b"])
    def test_invalid_locations(self, location):
        assert errors(document(install_location=location)) == [("invalid_path", "/plugins/install_location")]

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ({}, [("required", "")]),
            ([], [("invalid_type", ""), ("required", "")]),
            ({"plugin": {}}, [("unknown_field", "/plugin"), ("required", "")]),
            ({"plugins": {"providers": {}}}, [("invalid_type", "/plugins/providers")]),
            ({"plugins": {"plugins": ["x"]}}, [("invalid_type", "/plugins/plugins/0")]),
        ],
    )
    def test_other_shapes(self, value, expected):
        found = errors(value)

        assert all(error in found for error in expected[:1])

    def test_broken_yaml_has_a_position(self):
        (error,) = read_configuration("plugins:\n  providers: [\n").errors

        assert (error.code, error.line) == (Code.INVALID_YAML, 3)

    def test_a_document_above_the_limit_is_not_parsed(self):
        (error,) = read_configuration("#" * (MAX_BYTES + 1)).errors

        assert error.code is Code.TOO_LARGE

    def test_all_errors_come_at_once_and_their_number_is_limited(self):
        entries = [{"output": f"p{number}"} for number in range(300)]

        reading = read_configuration_value({"plugins": {"plugins": entries}})
        assert (len(reading.diagnostics), reading.omitted) == (200, 400)

    def test_a_hostile_document_takes_seconds_at_most(self):
        names = [f"p{number:03}{'ab' * 25}" for number in range(1000)]
        providers = [{**URL, "name": name} for name in names]
        entries = [{**ENTRY, "provider": f"x{name}", "output": name} for name in names]
        begin = time.perf_counter()

        reading = read_configuration_value({"plugins": {"providers": providers, "plugins": entries}})
        assert len(reading.errors) == 200
        read_configuration_value({"plugins": {"providers": [{f"nam{n}": 1 for n in range(100_000)}]}})
        assert time.perf_counter() - begin < 5

    def test_the_digest_is_that_of_the_canonical_json(self):
        assert canonical_json({"b": 1, "a": "ä"}) == '{"a":"ä","b":1}'.encode()
        assert digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1}) != digest({"a": 2, "b": 2})
