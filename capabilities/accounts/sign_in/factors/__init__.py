"""Second factors for sign-ins by password: apps, security keys, and codes for when these are lost."""
