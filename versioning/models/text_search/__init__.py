"""The index for searching texts by their words: docs/decisions/0034.

A document of the index is a version that a pointer refers to. Versions never change, so neither do documents;
each search checks the resources for which of them a caller may read, and whether they are live. So the index
can be behind, or have superfluous documents, but never returns a wrong match.
"""
