"""The models, for Django."""

from company.directory.models import DirectoryAccount
from company.sign_in.factors.models import FactorKey, SecondFactor
from company.sign_in.models import Identity, OpenSession

__all__ = ["DirectoryAccount", "FactorKey", "Identity", "OpenSession", "SecondFactor"]
