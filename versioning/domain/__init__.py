"""Agents, prompt blocks and their rules, without Django, a database or HTTP.

`config` declares the fields of a configuration; storage, checks, comparisons, the API and the studio follow
from them. `kinds` describes a kind of resource, `access` has the one table of roles and rights, `events`
the types of log entries, `selectors` how a request names a version, and `errors` every error with its code.
"""
