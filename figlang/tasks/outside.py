"""Tasks that are not part of figlang: in a folder of your own, or in another installed package."""

import sys
from functools import cache
from hashlib import sha256
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from figlang.errors import FiglangError, one_line
from figlang.tasks.listing import GROUP
from figlang.tasks.task import Task

FILE = "task.py"


@cache
def in_folder(folder: Path) -> list[Task]:
    """The tasks of a folder: its file `task.py` is run once, and every subclass of `Task` in it is a task.

    Raises:
        FiglangError: There is no such file, it fails, or it holds no task with a name.
    """
    path = folder.expanduser() / FILE
    if not path.is_file():
        raise FiglangError(f"no {FILE} in paths.tasks={folder}; give the folder of a task")
    try:
        module = _run(path)
        tasks = [value() for value in vars(module).values() if _is_task(value, module.__name__)]
    except Exception as error:
        raise FiglangError(f"{path} fails ({type(error).__name__}: {one_line(error)}); correct it") from error
    if not tasks or not all(task.name for task in tasks):
        raise FiglangError(f"{path} holds no subclass of figlang.tasks.task.Task with a name; add one")
    return tasks


@cache
def installed() -> list[Task]:
    """The tasks of other packages: each names a subclass of `Task` as an entry point of the group
    `figlang.tasks`.

    Raises:
        FiglangError: An entry point cannot be loaded.
    """
    tasks = []
    for point in entry_points(group=GROUP):
        try:
            tasks.append(point.load()())
        except Exception as error:
            raise FiglangError(
                f"the task {point.name} of {point.value} cannot be loaded ({one_line(error)}); "
                "reinstall or remove its package"
            ) from error
    return tasks


def _run(path: Path) -> ModuleType:
    # The module's name holds the place: two folders may both hold a task.py. Its neighbours can be imported
    # from it as `from .reading import …`.
    name = f"figlang_task_{sha256(str(path.resolve()).encode()).hexdigest()[:12]}"
    spec = spec_from_file_location(name, path, submodule_search_locations=[str(path.parent)])
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _is_task(value: object, module: str) -> bool:
    return isinstance(value, type) and issubclass(value, Task) and value.__module__ == module
