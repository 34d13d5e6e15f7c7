"""Rollouts: other versions for a share of the requests."""
