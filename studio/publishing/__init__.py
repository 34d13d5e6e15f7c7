"""The page that shows what a publish would change, what prevents it, and the list of waiting drafts."""
