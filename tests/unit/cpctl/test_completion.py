"""Completion beyond the first page: the server is asked for the prefix, or for more pages."""

from __future__ import annotations

import json
from operator import itemgetter
from types import SimpleNamespace

import pytest

from cpctl import completion
from cpctl.contexts import Context
from cpctl.session import Session


class Lists:
    """A server with 450 agents and projects, which finds agents by a part of their name."""

    def __init__(self):
        self.asked = []

    def send(self, method, path, *, query, timeout):
        self.asked.append((path, query.get("q", ""), query.get("cursor", "")))
        names = [f"prod-{number:03}" for number in range(450)]
        if path == "agents":
            names = [name for name in names if query["q"] in name]
        start = int(query["cursor"] or 0)
        items = [{"name": name} for name in names[start : start + 200]]
        after = str(start + 200) if start + 200 < len(names) else None
        return SimpleNamespace(json=lambda: {"items": items, "next_cursor": after})


@pytest.fixture
def lists(tmp_path, monkeypatch):
    lists = Lists()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(completion, "_context", lambda ctx: Context("", "http://here", "token"))
    monkeypatch.setattr(Session, "api", lambda self, context, *, tries: lists)
    monkeypatch.setattr(completion, "_BUDGET_SECONDS", 60.0)
    return lists


def names(path, prefix):
    return completion._names(None, path, "name", prefix)


def test_the_server_is_asked_for_the_prefix_of_a_long_list(lists):
    assert names("agents", "prod-44") == [f"prod-44{number}" for number in range(10)]
    assert names("agents", "prod-001") == ["prod-001"]
    # Again from the cache.
    assert names("agents", "prod-44") == [f"prod-44{number}" for number in range(10)]
    assert lists.asked == [("agents", "", ""), ("agents", "prod-44", ""), ("agents", "prod-001", "")]


def test_other_lists_are_read_page_by_page_as_long_as_there_is_time(lists, monkeypatch):
    assert names("scopes/projects", "prod-44") == [f"prod-44{number}" for number in range(10)]
    assert [cursor for _, _, cursor in lists.asked] == ["", "200", "400"]
    # All names are known: nobody is asked for another prefix.
    assert names("scopes/projects", "prod-001") == ["prod-001"]
    assert len(lists.asked) == 3

    monkeypatch.setattr(completion, "_BUDGET_SECONDS", 0.0)
    assert names("data-planes", "prod") == []


def test_a_cache_of_another_form_is_ignored(lists):
    completion._cached_names(None, "agents", itemgetter("name"))
    kept = completion._cache_file(f"http://here {completion.hash_of('token')} agents")
    kept.write_text(json.dumps(["old"]))

    assert "old" not in completion._cached_names(None, "agents", itemgetter("name"))
