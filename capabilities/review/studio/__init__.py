"""Reviews in the studio: requesting one, giving verdicts, and showing what is missing."""
