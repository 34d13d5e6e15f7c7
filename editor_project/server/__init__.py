"""The server behind `manage.py serve`: worker processes, the gateway from granian to WSGI, limits on bodies.

`cached_reads` answers repeated reads before Django is involved. `background` runs the worker for due work.
"""
