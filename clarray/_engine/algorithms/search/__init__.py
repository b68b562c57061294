"""Binary searches in a sorted line."""
