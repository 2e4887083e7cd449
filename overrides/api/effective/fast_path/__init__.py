"""The fast path of `GET /api/v1/overrides/effective`: ready answers, checked against the database each time.

A process keeps serialised answers and authenticated tokens. Before each answer it asks the database what
has changed, in one small statement that all waiting requests share and that begins after they came. So an
answer is never older than a write, or a revocation, that was acknowledged before the request began. Django
answers everything else, and alone defines the behaviour.
"""
