"""Evaluation of a version before it is published: datasets, scorers, experiments and gates."""
