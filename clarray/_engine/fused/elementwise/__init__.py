"""Every element on its own."""
