"""Measurements, as opposed to tests: `make bench`."""
