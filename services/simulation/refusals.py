"""Refusals of environments, and worlds that are gone, as errors of calls."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from hone.environments.contract import EpisodeFailed, EpisodeLost, WrongParams
from hone.rpc.errors import InvalidField, NotFound, NotReady, Refused

Result = TypeVar("Result")


@contextmanager
def fields_named(prefix: str = "") -> Iterator[None]:
    try:
        yield
    except WrongParams as error:
        raise InvalidField(prefix + error.field, error.found, error.expected) from error


@contextmanager
def reached() -> Iterator[None]:
    """Say of a world elsewhere that cannot be reached now that it may be there later, and of one that fails why."""
    try:
        yield
    except EpisodeFailed as error:
        raise Refused(str(error)) from error
    except EpisodeLost as error:
        raise NotReady(str(error)) from error


def kept(work: Callable[[], Result]) -> Result:
    """Return the result of work on a session. Raises NotFound where its world is lost, so that it is made again."""
    try:
        return work()
    except EpisodeLost as error:
        raise NotFound(f"the world of the session is gone: {error}") from error
    except EpisodeFailed as error:
        raise Refused(str(error)) from error
