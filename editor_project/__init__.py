"""The service as a Django project; every way to start it imports this package first."""

import sys
from importlib.util import find_spec
from pathlib import Path

if find_spec("editor_client") is None:
    # In a checkout the client is a separate distribution, and `pip install -r requirements.txt` leaves it
    # out, because pip wants a hash of everything. Processes that the server starts inherit the path.
    sys.path.append(str(Path(__file__).resolve().parents[1] / "client"))
