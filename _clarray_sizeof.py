"""What Dask loads when it is imported (the entry point ``dask.sizeof``): nothing of clarray until it meets an array."""

from importlib import import_module


def register(sizeof):
    """Have Dask import `clarray.dask`, which registers all it needs, when it first asks for the size of an array."""
    sizeof.register_lazy("clarray", lambda: import_module("clarray.dask"))
