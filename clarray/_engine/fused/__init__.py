"""From an expression and a device's capabilities to passes."""
