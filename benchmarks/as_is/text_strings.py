"""Arrays of strings."""
import numpy as np

names = np.array(["Ada", "Grace", "Alan", "Edsger", "Barbara"])
print(names, names.dtype, names.shape)
print(np.char.upper(names), np.char.str_len(names))
print(np.sort(names), names[names > "B"])
print(np.strings.startswith(names, "A"))
years = np.array([1815, 1906, 1912, 1930, 1939])
for name, year in zip(names[np.argsort(-years)], np.sort(years)[::-1]):
    print(f"{name:>8} {year}")
letters, counts = np.unique(list("mississippi"), return_counts=True)
print(dict(zip(letters.tolist(), counts.tolist())))
print(np.where(years > 1910, names, "-"))
