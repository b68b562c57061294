"""Dates and times."""
import numpy as np

days = np.arange("2024-02-01", "2024-03-05", dtype="datetime64[D]")
print(len(days), days[:3], days.dtype)
print(np.datetime64("2024-12-25") - np.datetime64("2024-01-01"))
values = np.arange(len(days)) ** 2
months = days.astype("datetime64[M]")
for month in np.unique(months):
    print(month, values[months == month].sum())
print(np.is_busday(days).sum(), np.busday_count("2024-01", "2024-02"))
weekday = (days.astype(int) + 3) % 7
print(np.bincount(weekday))
print(days[0] + np.timedelta64(10, "D"), np.diff(days)[:2])
