"""Templates of small matrices."""
