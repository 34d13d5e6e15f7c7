"""The page with the changes and the obstacles of a publication, and the list of waiting drafts."""
