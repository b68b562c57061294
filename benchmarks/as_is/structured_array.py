"""Records of people."""
import numpy as np

people = np.array(
    [("Rex", 9, 81.0), ("Fido", 3, 27.0), ("Ann", 30, 55.5)],
    dtype=[("name", "U10"), ("age", "i4"), ("weight", "f4")],
)
print(people["age"].mean(), people[1], people["name"])
people["age"] += 1
print(np.sort(people, order="age")["name"])
print(people[people["weight"] > 30]["name"], people.dtype.names)
r = people.view(np.recarray)
print(r.weight.max())
print(people["weight"].sum() / people["age"].sum())
