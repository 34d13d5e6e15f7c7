"""The OpenAPI document, generated once per process from the views and schemas, and the page to read it."""
