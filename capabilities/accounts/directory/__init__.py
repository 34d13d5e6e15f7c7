"""The company's directory, which makes and switches off accounts by SCIM 2.0 (RFC 7643 and 7644)."""
