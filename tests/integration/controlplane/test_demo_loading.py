"""The demo is loaded once, and into an empty installation only."""

from __future__ import annotations

import pytest

from controlplane.local.demo_record import read_record
from controlplane.management.commands.prepare import _load_demo
from overrides.models import Override, Project
from registry.agents.models import Agent
from tests.support.api_client import make_project

pytestmark = pytest.mark.django_db


def test_an_installation_with_data_gets_no_demo(tmp_path):
    make_project("mine")

    _load_demo(tmp_path, 8044)

    assert read_record(tmp_path) is None
    assert list(Project.objects.values_list("id", flat=True)) == ["mine"]
    assert not Agent.objects.exists()


def test_what_was_deleted_does_not_return(tmp_path):
    _load_demo(tmp_path, 8044)
    assert Agent.objects.count() == 6
    record = read_record(tmp_path)
    assert record
    assert (record.tells, record.receiver_port) == (True, 8044)
    Agent.objects.all().delete()
    Project.objects.all().delete()
    Override.objects.all().delete()

    _load_demo(tmp_path, 8045)

    assert not Agent.objects.exists()
    assert read_record(tmp_path) == record
