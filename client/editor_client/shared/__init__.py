"""The rules that client and service share, so that both always give the same result.

They need only the standard library. The service imports them from here.
"""
