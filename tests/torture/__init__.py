"""Programs that run for minutes and look for what only chance brings together; each has a short form in the suite."""
