"""Administration over REST: workspaces, members, invitations, keys, and who the caller is."""
