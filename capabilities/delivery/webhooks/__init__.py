"""Webhooks: events of a workspace, sent to URLs that its admins configure."""
