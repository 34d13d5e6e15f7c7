"""Usage: how often versions run, and their cost."""
