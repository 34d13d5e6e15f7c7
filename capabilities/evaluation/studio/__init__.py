"""The pages of the studio about scorers, datasets, experiments and gates."""
