"""Requesting reviews of a version, and verdicts on it: `editor.reviews`.

Members who may read the drafts of a resource may read its reviews. Members who may save may request a review,
move it, name the reviewers and close it; a verdict requires the right to publish. Every function takes the
caller as `by`, and raises `NotFound` if the caller may not read the resource, and `Forbidden` without the
right.
"""
