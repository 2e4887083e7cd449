"""REST conventions: bodies, problems, pages, ETags, idempotency, throttles, the OpenAPI description."""
