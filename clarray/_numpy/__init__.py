"""NumPy's functions, in folders by what they do."""
