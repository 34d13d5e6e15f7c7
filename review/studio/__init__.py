"""Reviews in the studio: asking for one, giving verdicts, and saying everywhere what is missing."""
