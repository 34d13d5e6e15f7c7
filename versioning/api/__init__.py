"""The REST API: a view validates a request, calls a verb of `versioning.editor` and serializes the result.

`urls` lists every route of the core and adds those of the capabilities. `base` is the base class of all
views, with authentication, parameters and entity tags. `errors` is the only place that maps domain errors
to HTTP. Answers to reads are cached in `cached_answers`.
"""
