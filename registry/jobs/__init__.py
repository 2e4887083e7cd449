"""Jobs: documents, windows, templates, and the input that an executor gets for one run."""
