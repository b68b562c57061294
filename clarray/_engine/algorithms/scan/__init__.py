"""Running values along an axis."""
