"""`GET /events/stream`: one thread follows the log and sends new entries to the streams of a process."""
