"""What a company asks for before it runs the editor: administration, sign-in, mail, a directory."""
