"""C of the user's, run at once."""
