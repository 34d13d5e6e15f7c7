"""Files of other systems: read, planned, and applied as drafts.

Readers turn a file, or the answers of a server, into a `Collection`. `planning` compares it with the editor,
and `applying` carries out the plan, through the client's public methods.
"""
