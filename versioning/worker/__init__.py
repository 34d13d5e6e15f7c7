"""The worker: a process that does due work, in addition to the processes that answer requests.

An application declares its jobs with `EditorApp.jobs`, which names a list of them:

    JOBS = (
        jobs.Queue(name="schedules", model="team.Schedule", run=schedules.carry_out),
        jobs.Periodic(name="digests", run=mail.collect, every=3600),
    )

Any number of workers may run, on any number of machines. `manage.py work` runs one, and so does `serve`.
docs/decisions/0015 explains the design.
"""
