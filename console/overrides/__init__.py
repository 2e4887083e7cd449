"""Pages for overrides: ladder, editor, history, scope tree, resource types."""
