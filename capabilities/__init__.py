"""Optional parts: a Django application for each capability, removed by its line in `INSTALLED_APPS`.

Each declares its additions in `apps.py` (`versioning.capabilities.EditorApp`). It imports from the studio,
the core and the capabilities in its `needs`; nothing below imports from here.
"""
