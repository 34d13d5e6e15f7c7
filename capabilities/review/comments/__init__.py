"""Comments on versions, and on fields and lines in them: `editor.comments`.

Members who may read the drafts of a resource may read its comments, and those who may save may write them.
Comments belong to the resource and not to its id, so a later resource with the same id does not inherit them;
those of a code-defined agent stay when its override is deleted.
"""
