"""Datasets: inputs with what a good answer to them is, in versions."""
