"""Experiments: what a target answers to the items of a dataset, and what scorers say of it."""
