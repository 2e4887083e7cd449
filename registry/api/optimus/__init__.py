"""HTTP endpoints that clients of Optimus use unchanged. They are shut unless OPTIMUS_COMPAT opens them."""
