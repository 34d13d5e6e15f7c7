"""Overrides of code-defined agents in files, and their history in Git.

Nothing here depends on Django or a database: only a folder, the `git` command, and snapshots made of both.
"""
