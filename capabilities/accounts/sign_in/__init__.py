"""How people sign in: identity providers, second factors, sessions, and asking for the password again."""
