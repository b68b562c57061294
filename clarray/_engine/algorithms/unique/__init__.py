"""Distinct values: by a range table, a hash table or a bitmap."""
