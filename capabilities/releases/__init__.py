"""Releases: several versions that are published in one transaction, and reverted together.

`verbs` is `editor.releases`; `checking` says what prevents a release from being published, `publishing`
publishes all items or none, and `reverting` creates the release that goes back.
"""
