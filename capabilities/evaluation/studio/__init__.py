"""The pages and the texts of the studio about evaluation."""
