"""Sign-in, second factors, the company's directory, service accounts, administration over REST."""
