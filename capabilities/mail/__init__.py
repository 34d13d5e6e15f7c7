"""Mail about what the bell shows, invitations, and links for forgotten passwords. The worker sends it."""
