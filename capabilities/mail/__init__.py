"""Mail about notifications, invitations, and links for forgotten passwords. The worker sends it."""
