"""Metrics for Prometheus, of all processes of one command together; off by default."""
