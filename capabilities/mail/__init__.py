"""Mail: what the bell tells a person, invitations and forgotten passwords, sent by the worker."""
