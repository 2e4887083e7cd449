"""Addresses of Valkey: a server, or Sentinels."""

import pytest

from controlplane.cluster.valkey_address import Sentinels, parse_sentinels

URL = "sentinel://:pass%2Fword@a:26379,b,c:26380/2?service=cp&sentinel_password=other"


def test_the_url_of_a_server_is_left_to_its_client():
    assert parse_sentinels("redis://:password@host:6379/0") is None
    assert parse_sentinels("rediss://host/0") is None


def test_sentinels_have_hosts_a_service_and_two_passwords():
    assert parse_sentinels(URL) == Sentinels(
        (("a", 26379), ("b", 26379), ("c", 26380)), "cp", 2, None, "pass/word", "other"
    )


def test_celery_gets_a_url_for_each_and_the_rest_beside():
    sentinels = parse_sentinels("sentinel://:p%2Fw@a,b/1?service=cp")
    assert sentinels is not None
    assert sentinels.broker_url == "sentinel://:p%2Fw@a:26379/1;sentinel://:p%2Fw@b:26379/1"
    assert sentinels.broker_options == {"master_name": "cp", "sentinel_kwargs": {"password": None}}


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("sentinel://a,b/0", "needs \\?service=NAME"),
        ("sentinel://a:x/0?service=cp", "'a:x' is no host of a Sentinel"),
        ("sentinel://a,,b/0?service=cp", "'' is no host of a Sentinel"),
        ("sentinel://a/0?service=cp&sentinel_pasword=x", "the parameter 'sentinel_pasword' is unknown"),
        ("sentinel://a/zero?service=cp", "invalid literal"),
    ],
)
def test_a_url_that_cannot_work_is_refused(url, message):
    with pytest.raises(ValueError, match=message):
        parse_sentinels(url)
