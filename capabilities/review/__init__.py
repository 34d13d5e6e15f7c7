"""Reviews, comments, and a policy on the approvals that a version needs before it is published.

`policy` is the check at the gate, `reviews` and `comments` are the verbs, and `studio` has the pages.
"""
