"""Feedback on answers, by the version that gave them."""
