"""Dispatch: a requested resource reaches one agent, and everybody can see where it is.

A resource has a goal, and one assignment to an agent for each attempt, numbered by epoch. Pure modules decide
what an answer, a timer or a person changes; `storage` writes it with its messages in one transaction.
"""
