"""Administration over REST: workspaces, members, invitations, keys, and the caller's identity."""
