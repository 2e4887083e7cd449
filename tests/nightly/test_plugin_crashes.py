"""Installers that are killed at every step, three times over."""

from __future__ import annotations

import pytest

from tests.integration.registry.plugin_releases import test_crashes
from tests.integration.registry.plugin_releases.test_crashes import ALL_POINTS, kill_installers_at

pytestmark = pytest.mark.django_db(transaction=True)
_settings, repository = test_crashes._settings, test_crashes.repository


def test_a_killed_installer_leaves_the_old_plugins_or_the_new_ones_at_every_step(repository, tmp_path):
    kill_installers_at(ALL_POINTS * 3, repository, tmp_path)
