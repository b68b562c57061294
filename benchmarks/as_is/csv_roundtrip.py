"""Write and read text and binary files."""
import io
import os
import tempfile

import numpy as np

data = np.arange(12, dtype=float).reshape(3, 4) / 4
text = io.StringIO()
np.savetxt(text, data, fmt="%.3f", delimiter=",", header="a,b,c,d")
print(text.getvalue())
text.seek(0)
print(np.loadtxt(text, delimiter=","))
print(np.genfromtxt(io.StringIO("1,2,3\n4,,6"), delimiter=",", filling_values=-1))
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "x.npy")
    np.save(path, data)
    print(np.load(path).sum())
    np.savez(os.path.join(folder, "y.npz"), a=data, b=np.arange(3))
    with np.load(os.path.join(folder, "y.npz")) as archive:
        print(sorted(archive.files), archive["b"])
