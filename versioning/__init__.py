"""Versioned agents and prompt blocks: the core of the editor, a Django application.

`domain` has the rules and no Django, `models` the tables, `serving` finds the version for a request,
`editor` has the verbs that change and read resources, `api` is the REST interface, `runtime` runs agents,
`sources` reads and writes override files, and `worker` does due work. `capabilities` describes what other
applications can add.
"""

__version__ = "0.2.0"
