"""Mathematical functions that are more than one ufunc, and tests of values."""
