"""The studio's pages about schedules, and what its other pages say of them."""
