"""The edit page: its form, saving without leaving the page, edit conflicts, and who else is editing."""
