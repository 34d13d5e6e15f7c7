"""The rules shared by client and service, so that both always give the same result.

They need only the standard library. The service imports them from here.
"""
