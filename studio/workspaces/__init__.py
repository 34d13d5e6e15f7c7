"""Workspaces with their members, invitations and API keys."""
