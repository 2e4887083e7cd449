"""Slow lanes, run by `make nightly` and never by `make test`: each module is one lane."""
