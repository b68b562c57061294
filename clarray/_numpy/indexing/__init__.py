"""Elements read, written and chosen."""
