"""Templates of Jinja from files of others, rendered in a sandbox: they see a row and nothing else."""

from collections.abc import Mapping, Sized
from typing import Any

from jinja2 import StrictUndefined
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from regex import sub

from figlang.errors import FiglangError, one_line

_SECONDS = 1.0  # seconds for a pattern from a file of somebody else


def _replaced(text: str, pattern: str, replacement: str = "", count: int = 0) -> str:
    return str(sub(pattern, replacement, text, count=count, timeout=_SECONDS))


class _Sandbox(ImmutableSandboxedEnvironment):
    """Templates that cannot fill the memory either."""

    intercepted_binops = frozenset(("*", "**"))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "**" or isinstance(left, Sized) or isinstance(right, Sized):
            raise SecurityError(f"{operator} of texts and lists, and powers, are not allowed")
        return super().call_binop(context, operator, left, right)


_ENVIRONMENT = _Sandbox(undefined=StrictUndefined, keep_trailing_newline=True)
_ENVIRONMENT.filters["regex_replace"] = _replaced


def rendered(template: str, row: Mapping[str, Any], where: str) -> str:
    """A template with the values of a row.

    Args:
        template: The text, for example `{{question}}`.
        row: The values by column.
        where: The file and the key, for errors.

    Raises:
        FiglangError: The template cannot be read, asks for a column that is not there, or does what the
            sandbox forbids.
    """
    try:
        return _ENVIRONMENT.from_string(template).render(**{str(name): value for name, value in row.items()})
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, TimeoutError) as error:
        raise FiglangError(
            f"{where}: the template {template[:60]!r} cannot be rendered ({one_line(error)}); correct it"
        ) from error
