"""Which values occur: a table over a range, a hash table, a bitmap."""
