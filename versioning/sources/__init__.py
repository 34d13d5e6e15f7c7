"""Where overrides of code-defined agents are kept as files, and the history that Git has of them.

Nothing here knows Django or a database: a folder, the `git` command, and snapshots made of both.
"""
