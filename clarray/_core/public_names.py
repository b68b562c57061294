"""What ``help``, IPython and Sphinx show of public functions and classes: public names, and readable signatures.

    clarray._numpy.reduction.reductions.sum(a: 'Any', axis: 'Any' = None, ...)  -->  clarray.sum(a, axis=None, ...)

A signature names parameters and defaults only, as NumPy's do: docstrings describe the types, and type checkers read the
annotations in the sources. So annotations are removed from public functions once, when they are imported.
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
        A Python function, or one of the core's.
    module, qualname : str
        The module in which users find it, and its name there: ``'clarray'`` and ``'DeviceArray.sum'``.
    """
    _remove_annotations(function)
    if hasattr(function, "_publish"):  # the core's
        function._publish(module, qualname)
    else:
        function.__module__, function.__qualname__ = module, qualname


def publish_class(cls: type, module: str, name: str) -> None:
    """Set the names of a public class and of its methods, and remove their annotations.

    ``help`` lists inherited methods under the name of their class, so a base class or a metaclass of a private module
    gets the public module, too.
    """
    written = cls.__qualname__
    cls.__name__ = cls.__qualname__ = name
    for each in (*cls.__mro__, type(cls)):
        if _is_own(each.__module__):
            if each is cls or "._" in each.__module__:
                each.__module__ = module
            if "__annotations__" in vars(each):
                del each.__annotations__
            for method, member in list(vars(each).items()):
                _remove_annotations(member)
                function = getattr(member, "__func__", member)
                is_special = method.startswith("__") and "._" in str(getattr(function, "__module__", ""))
                if type(function) is FunctionType and (is_special or function.__qualname__ == f"{written}.{method}"):
                    function.__module__, function.__qualname__ = module, f"{each.__qualname__}.{method}"


def publish_names(module: ModuleType, names: Iterable[str]) -> None:
    """Publish the functions and classes of clarray's that a public module has under these names."""
    for name in names:
        publish_name(module.__name__, name, vars(module).get(name))


def publish_name(module: str, name: str, value: Any) -> None:
    """Publish a function or a class of clarray's; leave anything else, and a second name of one, as it is."""
    home = str(getattr(value, "__module__", ""))
    is_published = home == "clarray" and module != "clarray"
    if not _is_own(home) or is_published:
        return
    if not hasattr(value, "__name__"):  # an object, such as `c_`, whose class has no public name
        publish_class(type(value), module, type(value).__name__)
    elif value.__name__ != name:
        return
    elif isinstance(value, type):
        publish_class(value, module, name)
    elif isinstance(value, MethodType):  # of an instance whose class is public
        _remove_annotations(value)
    elif hasattr(value, "__code__"):
        publish(value, module, name)


def _is_own(module: str) -> bool:
    return module.partition(".")[0] == "clarray"


def _remove_annotations(member: Any) -> None:
    """Remove the annotations of a function and of those that it wraps, or of a property's functions."""
    if isinstance(member, property):
        _remove_annotations(member.fget)
        _remove_annotations(member.fset)
    while member is not None:
        member = getattr(member, "__func__", member)
        if type(member) is FunctionType and _is_own(member.__globals__["__name__"]):
            del member.__annotations__
        member = getattr(member, "__wrapped__", None)
