"""Feedback: what people say of an answer, by the version that gave it."""
