"""The eight resource types that Flyte defines."""
