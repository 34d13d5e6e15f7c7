"""How `manage.py serve` takes requests: ports, worker processes, and the way from a connection to WSGI."""
