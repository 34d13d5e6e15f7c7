"""Reviews, comments, and a policy of how many approvals a version needs before it is published.

`policy` is the check at the gate, `reviews` and `comments` are the verbs, and `studio` has the pages.
"""
