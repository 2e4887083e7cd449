"""Doors for clients of Optimus that were not changed. They are shut unless OPTIMUS_COMPAT opens them."""
