"""What a collector reports, and which texts go along."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256

import pytest

from registry.agent_configs.sources.cluster.cache import CacheSnapshot
from registry.agent_configs.sources.cluster.objects import ConfigMap
from registry.agent_configs.sources.collector.client import ReportClient
from registry.agent_configs.sources.collector.pictures import Picture, SentTexts, next_texts, take_picture
from registry.agent_configs.sources.registered.reports import MOST_TEXTS

AT = datetime(2026, 1, 1, tzinfo=UTC)


def picture_of(errors: dict[str, str] | None = None, **texts: str) -> Picture:
    config_maps = tuple(ConfigMap("acme", name, "uid", AT, text) for name, text in texts.items())
    return take_picture(CacheSnapshot(config_maps, errors or {}, True, {"lists": 1}))


def places(*names: str) -> list[tuple[str, str]]:
    return [("acme", name) for name in names]


def test_sizes_and_digests_are_of_the_bytes():
    (document,) = picture_of(a="é").documents
    assert (document["size"], document["sha256"]) == (2, sha256("é".encode()).hexdigest())


def test_texts_fill_a_report_in_the_order_of_the_question():
    picture = picture_of(a="1" * 40, b="2" * 40, c="3" * 40)
    asked = places("c", "a", "b", "unknown")
    assert [name for _, name in next_texts(asked, picture, lambda _: True, most_bytes=80)] == ["c", "a"]


def test_a_report_has_at_most_as_many_texts_as_the_server_takes():
    picture = picture_of(**{f"n{number}": str(number) for number in range(150)})
    asked = list(picture.texts)
    assert len(next_texts(asked, picture, lambda _: True)) == MOST_TEXTS


def test_one_text_above_the_size_goes_alone():
    picture = picture_of(a="1" * 500, b="2")
    assert [name for _, name in next_texts(places("a", "b"), picture, lambda _: True, most_bytes=80)] == ["a"]


def test_what_was_sent_is_sent_again_only_after_a_while():
    picture, sent = picture_of(a="1", b="2"), SentTexts()
    sent.note([picture.digests["acme", "a"]], now=100.0)

    def due_at(now: float) -> list[str]:
        texts = next_texts(places("a", "b"), picture, lambda digest: sent.is_due(digest, now=now))
        return [name for _, name in texts]

    assert due_at(101.0) == ["b"]
    assert due_at(160.0) == ["a", "b"]


def test_errors_are_made_acceptable():
    picture = picture_of({"acme": "bad\x00\nbytes" + "x" * 600, "beta": ""})
    assert picture.errors["acme"].startswith("bad  bytesx")
    assert len(picture.errors["acme"]) == 500
    assert picture.errors["beta"] == "unknown"


@pytest.mark.parametrize("url", ["http://cp.example.com", "ftp://cp.example.com", "cp.example.com", ""])
def test_the_token_leaves_the_machine_by_https_alone(url, tmp_path):
    with pytest.raises(ValueError, match="https://"):
        ReportClient(url, "eu", tmp_path / "token")
    ReportClient("https://cp.example.com", "eu", tmp_path / "token")
    ReportClient("http://127.0.0.1:8000", "eu", tmp_path / "token")
