"""The command `editor`: pull, push and diff files, import from other tools, export, evaluate in CI."""
