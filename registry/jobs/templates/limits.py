"""Limits of a template, so that rendering takes linear time and memory. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from registry.jobs.templates.errors import EvaluationError


@dataclass(frozen=True, slots=True)
class Limits:
    """iterations: of all loops together. steps: evaluated expressions. processed: characters in functions."""

    template_bytes: int = 256 * 1024
    output_bytes: int = 1024 * 1024
    nesting: int = 50
    iterations: int = 1_000
    steps: int = 100_000
    processed: int = 16 * 1024 * 1024


DEFAULT_LIMITS = Limits()


class Budget:
    """What is left of the limits. Templates that share it cost no more together than one may.

    Each method raises EvaluationError when nothing is left.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self._output_bytes, self._iterations = limits.output_bytes, limits.iterations
        self._steps, self._processed = limits.steps, limits.processed

    def write(self, text: str) -> None:
        self._output_bytes -= len(text.encode())
        if self._output_bytes < 0:
            raise EvaluationError(f"The result is longer than {self.limits.output_bytes} bytes.")

    def iterate(self) -> None:
        self._iterations -= 1
        if self._iterations < 0:
            raise EvaluationError(
                f"The loops of the template take more than {self.limits.iterations} iterations."
            )

    def step(self) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise EvaluationError(f"The template takes more than {self.limits.steps} steps.")

    def process(self, characters: int) -> None:
        """Count the characters that functions read and write."""
        self._processed -= characters
        if self._processed < 0:
            raise EvaluationError(f"The functions process more than {self.limits.processed} characters.")
