"""Grades of a class."""
import numpy as np

grades = np.array([[88, 92, 79], [75, 64, 81], [93, 97, 99], [60, 71, 58]])
students = ["Kim", "Lee", "Max", "Noa"]
print("Average per student:", grades.mean(axis=1))
print("Average per exam:", grades.mean(axis=0))
for s, g in zip(students, grades):
    print(f"{s}: max={g.max()}, min={g.min()}, mean={g.mean():.2f}, std={np.std(g):.2f}")
print("Best:", students[grades.mean(axis=1).argmax()])
print("Passed:", [s for s, m in zip(students, grades.mean(axis=1)) if m >= 70])
print(np.corrcoef(grades.T).round(4))
print((grades - grades.mean(0)) / grades.std(0))
