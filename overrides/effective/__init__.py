"""What applies at a scope: the native strategy and Flyte's."""
