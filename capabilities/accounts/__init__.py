"""Accounts: sign-in with second factors and OpenID Connect, SCIM, administration over REST."""
