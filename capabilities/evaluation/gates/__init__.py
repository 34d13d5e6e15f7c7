"""Gates: rules that require a passed experiment before a version is published. `editor.gates`."""
