"""Executions of Flyte, as its engine reports them by events: their phases, and which events may follow."""
