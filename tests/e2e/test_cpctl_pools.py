"""cpctl about pools, against a running server."""

from __future__ import annotations

from controlplane.pools.models import Pool
from tests.e2e.test_cpctl_access import cpctl, done

__all__ = ["cpctl"]


def test_a_dry_run_of_deleting_a_pool_in_use_tells_that_force_is_needed(cpctl):
    done(cpctl, "pools", "set", "gpus", "--capacity", "1")
    assert "add --force" not in cpctl("pools", "delete", "gpus", "--dry-run").err

    assert cpctl("pools", "acquire", "gpus", "--token", "train").code == 0
    dry = cpctl("pools", "delete", "gpus", "--dry-run")
    assert dry.code == 0
    assert "gpus has 1 unit in use and 0 waiting requests. To delete the pool, add --force." in dry.err
    refused = cpctl("pools", "delete", "gpus", "--yes")
    assert (refused.code, "still_in_use" in refused.err) == (5, True), refused.err
    assert Pool.objects.filter(name="gpus").exists()

    done(cpctl, "pools", "delete", "gpus", "--force")
    assert not Pool.objects.filter(name="gpus").exists()
