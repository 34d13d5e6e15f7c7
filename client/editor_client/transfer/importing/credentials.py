"""Credentials in files of others: they are never imported, and the plan says where they were."""

from __future__ import annotations

import re
from typing import Any, Final

from editor_client.transfer.importing.collection import Collection, shown

REMOVED: Final = "[credential removed]"
CODE: Final = "credential"
_KEY: Final = re.compile(
    r"(?:.*_)?(?:api_?key|authorization|auth|password|passwd|passphrase|secret|secret_?key|access_?key"
    r"|(?:access|auth|bearer|refresh|session|id|personal_access)_?token|token|credentials?|connection"
    r"|connection_?string|private_?key|client_?secret|cookies?|dsn)"
)
_VALUE: Final = re.compile(
    # What is read in vain is bounded: a text of beginnings would take quadratic time.
    r"\b(?:sk|pk|rk)-(?=[A-Za-z_-]{0,100}[0-9])[A-Za-z0-9_-]{16,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\bxox[abprs]-[\w-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}|\bhf_[A-Za-z0-9]{20,}"
    r"|\blsv2_[a-z]{2}_\w{16,}|\bek_[\w-]{30,}|\beyJ[\w-]{8,500}\.eyJ[\w-]{8,2000}\.[\w-]{8,}"
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----|(?i:\bbearer )(?=[\w.~+/-]{0,100}[0-9])[\w.~+/-]{20,}=*"
    r"|(?<=://)[^\s/:@]{1,100}:[^\s/@]{1,100}(?=@)"
)


def without(value: Any, collection: Collection, where: str, *, by_name: bool = True) -> Any:
    """Return a JSON value without credentials, and note where each was.

    `by_name` looks at the names of members, too: not for data such as the variables of a test.
    """
    if isinstance(value, str):
        return _in_text(value, collection, where)
    if isinstance(value, list):
        return [
            without(entry, collection, f"{where}.{place}", by_name=by_name)
            for place, entry in enumerate(value)
        ]
    if not isinstance(value, dict):
        return value
    kept = {}
    for name, member in value.items():
        place = f"{where}.{shown(name)}"
        if by_name and member not in (None, "") and _names_a_credential(name):
            collection.lose(CODE, place, "A credential is left out.")
        else:
            kept[_in_text(name, collection, where)] = without(member, collection, place, by_name=by_name)
    return kept


def _names_a_credential(name: str) -> bool:
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[-. ]", "_", name[-200:]).lower()
    return _KEY.fullmatch(snake) is not None


def _in_text(text: str, collection: Collection, where: str) -> str:
    found, count = _VALUE.subn(REMOVED, text)
    if count:
        collection.lose(CODE, where, "What looks like a credential is left out of the text.")
    return found
