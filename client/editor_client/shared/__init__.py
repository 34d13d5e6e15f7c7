"""The rules that the client and the service both evaluate: one code, so that both always agree.

They need the standard library alone. The service imports them from here.
"""
