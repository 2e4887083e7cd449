"""While a replica is away, one request tries it now and then."""

from controlplane.replicas.pauses import Pause


def test_everybody_may_try_what_works():
    pause = Pause(5)
    assert [pause.allows(0), pause.allows(0)] == [True, True]


def test_nobody_tries_during_a_pause_and_one_does_at_its_end():
    pause = Pause(5)
    assert pause.fail(10)
    assert not pause.fail(10), "Only the first failure is news."
    assert not pause.allows(14.9)
    assert pause.allows(15)
    assert not pause.allows(15), "The others do not wait for the one that tries."
    pause.succeed()
    assert [pause.allows(15.1), pause.allows(15.1)] == [True, True]


def test_each_failure_begins_a_pause():
    pause = Pause(5)
    pause.fail(0)
    assert pause.allows(5)
    pause.fail(6)
    assert not pause.allows(10.9)
    assert pause.allows(11)
