"""Webhooks: events of a workspace, sent to the URLs that its admins name."""
