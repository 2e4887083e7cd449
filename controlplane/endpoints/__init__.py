"""HTTP endpoints of the kernel: access, events, metrics, problem pages."""
