"""Tables of dtypes and ufuncs, and promotion by NumPy. No OpenCL here.

Import from the modules: `dtypes`, `ufuncs` (`find_loop`, `emit`, `helpers`), `helpers`
(`helpers_in`), `promotion`.
"""
