"""What changes between two configurations."""

from __future__ import annotations

import copy

import pytest

from registry.plugins.documents.configuration import read_configuration_value
from registry.plugins.releases import ReleaseChange, compare_configurations, find_releases

DIGEST = "sha256:" + "ab" * 32
BASE = {
    "plugins": {
        "providers": [
            {"name": "web", "type": "url", "url": "https://host", "prefix": "stable"},
            {"name": "mirror", "type": "url", "url": "https://mirror"},
        ],
        "plugins": [
            {
                "provider": "web",
                "output": "bq2bq",
                "path": "bq2bq.zip",
                "config": {"executor_image": "host/a:1"},
            },
            {"provider": "web", "output": "pinned", "path": "pinned.zip", "checksum": DIGEST},
        ],
    }
}


def read(document):
    reading = read_configuration_value(document)
    assert reading.errors == ()
    return reading.content.configuration


def change(edit) -> ReleaseChange:
    document = copy.deepcopy(BASE)
    edit(document["plugins"])
    return compare_configurations(read(BASE), read(document))


def test_everything_is_downloaded_at_first():
    assert compare_configurations(None, read(BASE)) == ReleaseChange(downloaded=("bq2bq", "pinned"))


def test_nothing_changes_without_a_change():
    assert compare_configurations(read(BASE), read(BASE)) == ReleaseChange(unchanged=("bq2bq", "pinned"))


def test_another_executor_image_is_another_revision_of_the_same_artifact():
    document = copy.deepcopy(BASE)
    document["plugins"]["plugins"][0]["config"]["executor_image"] = "host/a:2"
    before, after = find_releases(read(BASE))["bq2bq"], find_releases(read(document))["bq2bq"]

    assert before.artifact == after.artifact
    assert before.revision != after.revision
    assert compare_configurations(read(BASE), read(document)) == ReleaseChange(
        released=("bq2bq",), unchanged=("pinned",)
    )


@pytest.mark.parametrize(
    ("plugin", "fields"),
    [
        (0, {"path": "other.zip"}),
        (0, {"version": ">=2"}),
        (0, {"checksum": DIGEST}),
        (0, {"provider": "mirror"}),
        (1, {"checksum": "sha256:" + "cd" * 32}),
        (1, {"path": "pinned.tgz"}),
    ],
)
def test_what_changes_the_bytes_is_a_download(plugin, fields):
    name = BASE["plugins"]["plugins"][plugin]["output"]

    assert change(lambda plugins: plugins["plugins"][plugin].update(fields)).downloaded == (name,)


@pytest.mark.parametrize(
    "fields", [{"provider": "mirror"}, {"path": "folder/other.zip"}, {"requires_server": ">=0.1"}]
)
def test_the_same_checksum_is_the_same_artifact(fields):
    result = change(lambda plugins: plugins["plugins"][1].update(fields))

    assert (result.downloaded, result.released) == ((), ("pinned",))


@pytest.mark.parametrize(
    "fields", [{"auth": {"type": "bearer", "env": "A"}}, {"timeout": "1m"}, {"retries": 3}]
)
def test_how_a_provider_is_reached_changes_nothing(fields):
    result = change(lambda plugins: plugins["providers"][0].update(fields))

    assert result == ReleaseChange(unchanged=("bq2bq", "pinned"))


@pytest.mark.parametrize("fields", [{"url": "https://other"}, {"prefix": "beta"}])
def test_another_address_is_another_artifact_without_a_checksum(fields):
    result = change(lambda plugins: plugins["providers"][0].update(fields))

    assert (result.downloaded, result.unchanged) == (("bq2bq",), ("pinned",))


@pytest.mark.parametrize(
    "edit",
    [lambda plugins: plugins["plugins"].pop(0), lambda plugins: plugins["plugins"][0].update(enabled=False)],
)
def test_a_plugin_that_is_gone_or_disabled_is_removed(edit):
    assert change(edit) == ReleaseChange(removed=("bq2bq",), unchanged=("pinned",))


def test_another_folder_needs_everything_again():
    assert change(lambda plugins: plugins.update(install_location="other")).downloaded == ("bq2bq", "pinned")
