"""The preview of assembled instructions, and *Try*, which runs draft and published version side by side."""
