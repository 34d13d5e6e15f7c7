"""What can be left out: a Django application for each capability, removed by its line in `INSTALLED_APPS`.

Each declares its additions in `apps.py` (`versioning.capabilities.EditorApp`). It imports from the studio
and the core, and from a capability that its `needs` names; nothing below imports from here.
"""
