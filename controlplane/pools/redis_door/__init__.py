"""Pools for unmodified FlytePropellers, whose resource manager speaks to Redis: `manage.py pools_redis`."""
