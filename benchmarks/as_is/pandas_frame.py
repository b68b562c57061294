"""Columns of a frame from arrays."""
import numpy as np
from numpy.random import default_rng
import pandas as pd

rng = default_rng(4)
df = pd.DataFrame({"a": np.arange(6), "b": rng.random(6).round(3), "c": np.where(np.arange(6) % 2, "odd", "even")})
df["d"] = np.sqrt(df["a"]) + np.log1p(df["b"])
print(df)
print(df.groupby("c")["b"].mean().round(4))
print(np.mean(df["a"]), np.asarray(df["a"]).sum(), df["b"].to_numpy().max())
print(pd.Series(np.linspace(0, 1, 5)).describe())
print(pd.DataFrame(np.eye(3), columns=list("xyz")).sum().tolist())
