"""Comments on versions, and on fields and lines in them: `editor.comments`.

Members who may read the drafts of a resource read its comments, and those who may save write them. Comments
belong to the resource and not to its id, so a later resource with the same id has none of them; those of an
agent that code defines stay when its override is deleted.
"""
