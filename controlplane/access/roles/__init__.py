"""Roles of the operators' own, which bindings a caller may read, and who may do what by which binding."""
