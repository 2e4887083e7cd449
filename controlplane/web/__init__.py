"""The ASGI side: the bridge to Django, requests that a fast path may answer, batches, health."""
