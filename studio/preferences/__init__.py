"""Preferences of the signed-in person: language, time zone, density."""
