"""Whether one version answers better than another: what the numbers of two runs say."""
