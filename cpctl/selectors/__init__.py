"""Parts of an answer, picked by expression."""
