"""Tests of evaluation: scorers."""
