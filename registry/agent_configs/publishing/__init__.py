"""What changes configurations: publish, recompute, quarantine, preview, ownership."""
