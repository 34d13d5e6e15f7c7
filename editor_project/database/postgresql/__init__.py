"""For `DATABASES`: Django's PostgreSQL backend with limits on every wait; see `base`."""
