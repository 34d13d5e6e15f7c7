"""Overrides of code-defined agents that live in files, and the history that Git has of them.

Nothing here knows Django or a database: a folder, the `git` command, and snapshots made of both.
"""
