"""How data planes get bundles: long poll, signatures, acknowledgements."""
