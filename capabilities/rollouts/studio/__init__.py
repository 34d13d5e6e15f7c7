"""The pages of the studio about rollouts and usage."""
