"""Short runs of several arrays, in one launch."""
