"""Elements that a mask selects, one after the other."""
