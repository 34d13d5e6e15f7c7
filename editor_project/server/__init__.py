"""The server of `manage.py serve`: ports, worker processes, and the gateway to WSGI."""
