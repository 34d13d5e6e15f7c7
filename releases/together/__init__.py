"""Releases: resources that go live together or not at all."""
