"""Scorers: stored, versioned rules that judge an answer."""
