"""Convert a configuration to form controls and back. Pure: no request, no database.

A field is *shown* as nested text, one for each control, and *read* back from the posted form. A value that
the controls of a field cannot represent exactly is shown as JSON, so that no data is lost.
"""
