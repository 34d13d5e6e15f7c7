"""Signing in, passwords, names, invitations, and the list of users."""
