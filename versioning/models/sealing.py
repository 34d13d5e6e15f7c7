"""Encryption of stored keys under keys derived from texts of the settings."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


class Unreadable(Exception):
    """No key decrypts the text."""


class Keys:
    """Keys derived from texts for one purpose: the newest, which is first, encrypts; all of them decrypt."""

    def __init__(self, texts: Sequence[str], purpose: bytes) -> None:
        keys = (
            HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(text.encode())
            for text in texts
        )
        self._newest, *self._older = (Fernet(base64.urlsafe_b64encode(key)) for key in keys)

    def seal(self, secret: bytes) -> str:
        return self._newest.encrypt(secret).decode()

    def open(self, sealed: str) -> tuple[bytes, str | None]:
        """Return a secret, and its new ciphertext unless the newest key decrypted it.

        Raises `Unreadable` if no key does.
        """
        try:
            return self._newest.decrypt(sealed), None
        except InvalidToken:
            pass
        try:
            renewed = MultiFernet([self._newest, *self._older]).rotate(sealed)
        except InvalidToken:
            raise Unreadable from None
        return self._newest.decrypt(renewed), renewed.decode()
