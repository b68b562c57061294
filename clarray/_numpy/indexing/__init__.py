"""Index arrays, and select, gather and scatter their elements."""
