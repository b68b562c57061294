"""Mathematical functions of more than one ufunc, and tests of values."""
