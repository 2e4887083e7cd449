"""The fast path of reads by Flyte's HTTP clients: ready answers, checked against the database each time.

It shares the revision check, the tokens and the memory of the fast path of effective reads. A read that is
not plain, or not allowed, is left to the gateway, which alone defines the behaviour.
"""
