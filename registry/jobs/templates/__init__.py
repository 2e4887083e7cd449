"""Templates of jobs: a subset of Go's text/template, with Optimus' functions. Pure.

Supported are fields (`.proj.NAME`), pipelines, parentheses, variables, trim markers, comments, `if`,
`else if`, `with` and `range` over lists. Everything else is refused with its line and column, so that a
template never renders differently than in Go.
"""

from registry.jobs.templates.errors import TemplateError
from registry.jobs.templates.limits import Budget, Limits
from registry.jobs.templates.rendering import Rendered, render

__all__ = ["Budget", "Limits", "Rendered", "TemplateError", "render"]
