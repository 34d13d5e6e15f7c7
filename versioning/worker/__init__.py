"""The worker: a process that does what is due, beside the processes that answer requests.

Rooms that have something to do later register it when they are ready:

    class TeamConfig(AppConfig):
        def ready(self) -> None:
            jobs.register(jobs.Queue(name="schedules", model="team.Schedule", run=schedules.carry_out))
            jobs.register(jobs.Periodic(name="digests", run=mail.collect, every=3600))

Any number of workers may run, on any number of machines; `manage.py work` is one, and `serve` runs one beside
itself. docs/decisions/0015 says why it is made like this.
"""
