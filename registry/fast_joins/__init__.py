"""The fast path of `POST /api/v1/agents:join`: one transaction for many, answered after its commit.

It takes new agents that their token admits. Whatever is otherwise (a bad body, another token, a taken name)
goes to Django, which alone says what is wrong.
"""

from registry.fast_joins.handler import JOIN_ROUTE, FastJoins

__all__ = ["JOIN_ROUTE", "FastJoins"]
