"""The edit page: its form, saving in place, edit conflicts, and showing who else is editing."""
