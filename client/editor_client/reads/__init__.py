"""Run-time operations of applications: read, run and follow agents, report usage and give feedback.

`agents` describes reads and runs, and `flows` performs them without I/O: `cached` decides whether a cached
answer is fresh, `following` reads changes from the log, `exchange` retries. The effects are those of the
clients, `editor_client.sync` and `editor_client.asynchronous`.
"""
