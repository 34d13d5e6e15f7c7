"""Overrides of code-defined agents in files, and their history in Git.

This package does not depend on Django or a database: only on a folder and the `git` command.
"""
