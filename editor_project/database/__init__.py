"""The service's PostgreSQL backend: Django's, with limits on every wait."""
