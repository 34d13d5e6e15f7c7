"""The company's directory, which creates and deactivates accounts by SCIM 2.0 (RFC 7643 and 7644)."""
