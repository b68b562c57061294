"""Elements named by numbers, read or written."""
