"""Resource pools: units that programs lease, with caps, guarantees and shares down the hierarchy."""
