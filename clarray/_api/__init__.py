"""What is put on top: methods, protocols, names, questions about what runs, commands."""
