"""Arrays from nothing, from data and from files."""
