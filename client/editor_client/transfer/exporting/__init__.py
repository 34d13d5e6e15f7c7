"""What is published, in the formats of other systems; what a format does not have is named."""
