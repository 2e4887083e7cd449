"""The dashboard names a check that fails once, whatever number of environments it fails for."""

from console.dashboard.installation import FailingCheck, failing_checks
from controlplane.observability.alerting.checks import Check
from controlplane.observability.alerting.rules import Severity


def check(name: str, about: str = "", value: float | None = 1) -> Check:
    return Check(name, Severity.PAGE, f"What {name} means.", f"docs/operations.md#{name}", about, value)


def test_a_check_that_fails_for_many_is_named_once_with_all_of_them():
    found = failing_checks(
        [
            check("CpFleetGuard", "us"),
            check("CpQueue"),
            check("CpFleetGuard", "eu"),
            check("CpPoolDrift", value=None),
        ]
    )

    assert found == [
        FailingCheck("CpFleetGuard", "What CpFleetGuard means.", ("us", "eu")),
        FailingCheck("CpQueue", "What CpQueue means.", ()),
    ]


def test_nothing_is_named_while_every_check_passes():
    assert failing_checks([check("CpFleetGuard", value=None)]) == []
