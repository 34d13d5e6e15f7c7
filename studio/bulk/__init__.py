"""Publishing, labelling and tagging several chosen resources: a confirmation, then a report."""
