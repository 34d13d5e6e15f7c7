"""Between a configuration and the controls of a page, both ways. Pure: no request, no database.

A field is *shown* as nested text, a control each, and *read* back from what was posted. What a
field's controls cannot hold exactly is shown as JSON instead, so that nothing is lost on the way.
"""
