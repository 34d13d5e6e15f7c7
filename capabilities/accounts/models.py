"""The models, for Django."""

from capabilities.accounts.directory.models import DirectoryAccount
from capabilities.accounts.sign_in.factors.models import FactorKey, SecondFactor
from capabilities.accounts.sign_in.models import Identity, OpenSession

__all__ = ["DirectoryAccount", "FactorKey", "Identity", "OpenSession", "SecondFactor"]
