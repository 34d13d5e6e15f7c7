"""Reviews in the studio: requesting one, giving verdicts, and showing missing approvals."""
