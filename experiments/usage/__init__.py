"""Usage: how often versions run, and what that takes."""
