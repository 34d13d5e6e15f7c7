"""Delivery of log entries: the stream of server-sent events, and signed webhooks with retries."""
