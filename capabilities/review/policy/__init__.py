"""The rule that a version needs approvals before it goes live."""
