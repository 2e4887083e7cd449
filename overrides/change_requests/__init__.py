"""Change requests: changes of one override that others approve before they are published."""
