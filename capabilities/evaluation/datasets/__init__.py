"""Datasets: inputs with expected answers, in versions. `editor.datasets`."""
