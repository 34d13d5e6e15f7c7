"""Asking others to look at a version, and what they say of it: `editor.reviews`.

Members who may read the drafts of a resource read its reviews. Who may save asks for one, moves it, names
the reviewers and closes it; a verdict needs the right to publish. Every function takes the caller as `by`,
and raises `NotFound` if the caller may not read the resource, and `Forbidden` without the right.
"""
