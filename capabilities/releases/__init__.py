"""Releases: several versions that are published in one transaction, and reverted together.

`verbs` is `editor.releases`; `checking` finds the reasons that prevent publishing, `publishing` publishes all
items or none, and `reverting` creates the release that goes back.
"""
