"""Rollouts of a version to a share of the requests, with the usage and feedback of each arm.

The label of this application is `experiments`, which names its tables.
"""
