"""Versioned agents and prompt blocks."""

__version__ = "0.2.0"
