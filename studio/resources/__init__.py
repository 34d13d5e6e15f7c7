"""Lists of agents and prompt blocks with filters, creating and duplicating, and the base of their pages."""
