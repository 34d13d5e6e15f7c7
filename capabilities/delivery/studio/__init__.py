"""The pages of the studio about the webhooks of a workspace."""
