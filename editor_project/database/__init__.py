"""The PostgreSQL of the service: Django's, with bounds on how long anybody waits for it."""
