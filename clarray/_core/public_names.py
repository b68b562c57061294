"""Public names and readable signatures of functions and classes, for ``help``, IPython and Sphinx.

    clarray._numpy.reduction.reductions.sum(a: 'Any', axis: 'Any' = None, ...)  -->  clarray.sum(a, axis=None, ...)

A signature shows parameters and defaults only, as in NumPy. Docstrings describe the types, and type checkers read the
annotations in the sources. So the import removes the annotations of public functions.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType, MethodType, ModuleType
from typing import Any

__all__ = ["publish", "publish_class", "publish_name", "publish_names"]


def publish(function: Any, module: str, qualname: str) -> None:
    """Set the names of a public function, and remove its annotations.

    Parameters
    ----------
    function : callable
        A Python function, or a function of the compiled core.
    module, qualname : str
        The public module, and the name in it: ``'clarray'`` and ``'DeviceArray.sum'``.
    """
    _remove_annotations(function)
    if hasattr(function, "_publish"):  # the core's
        function._publish(module, qualname)
    else:
        function.__module__, function.__qualname__ = module, qualname


def publish_class(cls: type, module: str, name: str) -> None:
    """Set the names of a public class and of its methods, and remove their annotations.

    ``help`` lists inherited methods under the name of their class, so a base class or a metaclass from a private module
    gets the public module, too.
    """
    private_name = cls.__qualname__
    cls.__name__ = cls.__qualname__ = name
    for base in (*cls.__mro__, type(cls)):
        if _is_own(base.__module__):
            if base is cls or "._" in base.__module__:
                base.__module__ = module
            if "__annotations__" in vars(base):
                del base.__annotations__
            for method, member in list(vars(base).items()):
                _remove_annotations(member)
                function = getattr(member, "__func__", member)
                is_special = method.startswith("__") and "._" in str(getattr(function, "__module__", ""))
                if type(function) is FunctionType and (
                    is_special or function.__qualname__ == f"{private_name}.{method}"
                ):
                    function.__module__, function.__qualname__ = module, f"{base.__qualname__}.{method}"


def publish_names(module: ModuleType, names: Iterable[str]) -> None:
    """Publish clarray's functions and classes with these names in a public module."""
    for name in names:
        publish_name(module.__name__, name, vars(module).get(name))


def publish_name(module: str, name: str, published: Any) -> None:
    """Publish a function or a class of clarray. Skip other objects, and second names."""
    home = str(getattr(published, "__module__", ""))
    is_published = home == "clarray" and module != "clarray"
    if not _is_own(home) or is_published:
        return
    if not hasattr(published, "__name__"):  # an object, such as `c_`, whose class has no public name
        publish_class(type(published), module, type(published).__name__)
    elif published.__name__ != name:
        return
    elif isinstance(published, type):
        publish_class(published, module, name)
    elif isinstance(published, MethodType):  # a method of an instance of a public class
        _remove_annotations(published)
    elif hasattr(published, "__code__"):
        publish(published, module, name)


def _is_own(module: str) -> bool:
    return module.partition(".")[0] == "clarray"


def _remove_annotations(member: Any) -> None:
    """Remove the annotations of a function and of the functions that it wraps, or of a property's functions."""
    if isinstance(member, property):
        _remove_annotations(member.fget)
        _remove_annotations(member.fset)
    while member is not None:
        member = getattr(member, "__func__", member)
        if type(member) is FunctionType and _is_own(member.__globals__["__name__"]):
            del member.__annotations__
        member = getattr(member, "__wrapped__", None)
