"""Values counted, or summed, per bin."""
