"""Signing in: identity providers, second factors, sessions, and confirming the password."""
