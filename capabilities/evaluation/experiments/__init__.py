"""Experiments: an agent's answers to the items of a dataset, with their scores. `editor.experiments`.

Starting one pins the dataset, the scorers and the target. Workers run the items, or an application submits
results; `comparing` compares two runs item by item.
"""
