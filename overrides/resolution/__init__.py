"""Which value wins at a scope, and why: addresses, merging, guard rails, resolution. Pure."""
