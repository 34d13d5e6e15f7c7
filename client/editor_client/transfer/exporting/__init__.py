"""Published agents in the formats of other systems; parts that a format lacks are listed."""
