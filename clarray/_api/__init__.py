"""The public interface above NumPy's chapters: methods, protocols, names, explanations of plans, commands."""
