"""Agent configurations that teams publish on their own, and the one that each data plane is given. Pure.

The way of a document, and what the doors need on it:

documents.read_document, read_object   text or object -> Reading: Content, or every mistake with its place
limits.Limits                          what a document may be and hold
serving.served, is_flapping, suspects  the generation that counts; who is left out, or to blame
claims.Published, DocumentId, Facts, Canary    a document with what of it may be served
grants.Ownership, Grant, Release, transferred  who may have which name
history.fresh, remembered              what is remembered of claims from decision to decision
deciding.decide, Policy, Decision      a Verdict for every claim; only what lost is dropped
verdicts.for_reader                    a verdict without the names of another organisation
conditions.conditions_of, Situation, with_times    how a document stands
targets.Target                         a data plane: dialect, release, plugins, the platform's own settings
bundles.build, Bundle                  all accepted claims as one complete configuration
parts.divided, Division                which documents of each team count, and whose change is held
gates.held_by, Gates                   what a bundle must pass before it is given out
pace.spent                             how often a team may change its documents
rendering.as_yaml, as_json, as_config_map, digest    what a data plane reads, and its hash
differences.difference, summary        what changes from one bundle to the next

Nothing here knows a database, a clock, HTTP or Kubernetes. `recomputing.recompute` is all of it in one call.
"""
