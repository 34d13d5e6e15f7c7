"""What the application stores about people, to be erased with them."""

from __future__ import annotations

from typing import Final

from versioning.models.personal_data import names_in, rows_of_person

PERSONAL_DATA: Final = (
    names_in("review.Comment", "author_name", "resolved_by_name"),
    names_in("review.Review", "author_name"),
    names_in("review.Verdict", "author_name"),
    rows_of_person("review.Look"),
    rows_of_person("review.Mention"),
)
