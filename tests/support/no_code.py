"""A framework that defines nothing in code."""

from versioning.editor import Editor
from versioning.runtime import Framework

framework = Framework(editor=Editor())
