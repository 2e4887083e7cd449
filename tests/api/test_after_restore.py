"""After a restore: nothing new is taken for what was lost, and followers are told where to begin again."""

from __future__ import annotations

import io

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import connection

from controlplane.access.models import AuditRecord
from controlplane.events import log
from controlplane.events.models import LostEvents
from overrides.after_restore import JUMP, beyond
from overrides.loading.revisions import current_revision

pytestmark = pytest.mark.django_db(transaction=True)
LIMITS = {"attributes": {"limits": {"cpu": "2"}}}


def after_restore(**options: int) -> str:
    output = io.StringIO()
    call_command("after_restore", stdout=output, **options)
    return output.getvalue()


def epochs() -> tuple[str, ...]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT access_epoch.epoch::text, catalogue.epoch::text, catalogue.contents::text"
                       " FROM access_epoch, overrides_catalogueepoch AS catalogue")  # fmt: skip
        return tuple(cursor.fetchone())


def test_numbers_jump_beyond_what_was_restored_and_what_is_known():
    assert beyond(5, 0) == 5 + JUMP
    assert beyond(5, 900) == 900 + JUMP


def test_followers_of_lost_events_get_410_with_the_new_start_and_others_go_on(api):
    assert api.put("overrides/task_resource?domain=staging", LIMITS).status_code == 201
    kept = log.last_number()
    known = kept + 40
    said = after_restore(last_known_event=known, last_known_revision=7)
    start = known + JUMP
    assert f"go on from {start + 1}" in said

    for lost in (kept + 1, known, start - 1):
        gone = api.get(f"events?after={lost}")
        assert (gone.status_code, gone.json()["code"]) == (410, "events_gone"), lost
        assert gone.json()["oldest_seq"] == start + 1
        assert f"continue after {start}" in gone.json()["detail"]
    for position in (0, kept, start):
        answer = api.get(f"events?after={position}")
        assert answer.status_code == 200, position
        assert answer.json()["items"][-1]["type"] == "installation.restored"
    (event,) = api.get(f"events?after={start}").json()["items"]
    assert event["seq"] == start + 1
    assert event["data"] == {"last_event": kept, "first_event": start + 1, "revision": 7 + JUMP}
    assert AuditRecord.objects.get(action="installation.restored").actor == "system:after-restore"


def test_events_that_had_no_number_in_the_backup_get_a_new_one(api):
    last = log.last_number()
    assert api.post("teams", {"slug": "ml", "title": "ML"}).status_code == 201
    after_restore()
    assert next(iter(log.follow(last))).seq == last + JUMP + 1


def test_the_next_revision_is_above_all_that_clients_have_seen_and_caches_are_empty(api):
    assert api.put("overrides/task_resource?domain=staging", LIMITS).status_code == 201
    cache.set("remembered", 1)
    before, revision = epochs(), current_revision()
    after_restore(last_known_revision=revision + 10)
    assert current_revision() == revision + 10 + JUMP
    assert not set(before) & set(epochs())
    assert cache.get("remembered") is None
    assert api.put("overrides/task_resource?domain=production", LIMITS).status_code == 201
    assert current_revision() == revision + 11 + JUMP
    effective = api.get("overrides/effective?project=flytesnacks&domain=production")
    assert effective.status_code in (200, 404)


def test_it_may_be_repeated_and_a_wrong_number_changes_nothing(api):
    with pytest.raises(CommandError, match="from 0 to"):
        after_restore(last_known_event=-1)
    assert not LostEvents.objects.exists()
    after_restore()
    after_restore()
    assert LostEvents.objects.count() == 2
    assert api.get(f"events?after={log.last_number()}").status_code == 200
