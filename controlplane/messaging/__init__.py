"""Messages that leave and arrive: envelope, outbox, inbox, dead letters, NATS JetStream.

Postgres is the record. A message is a row of the transaction that caused it; a relay sends it later, as often
as needed. Each answer is recorded with its effect, so that a repeated one has none. See docs/adr/0052.
"""
