"""Files that the paths of one input stand for."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.errors import FaultlineError


@dataclass(frozen=True)
class LocalFile:
    """One regular file.

    Attributes:
        name: its absolute path, by the first way that leads to it.
        size: bytes.
        modified_ms: time of the last change, epoch ms.
        given: the path of the input that it was found by.
    """

    name: str
    size: int
    modified_ms: int
    given: str


@dataclass(frozen=True)
class Listing:
    """Files that the paths of one input stand for.

    Attributes:
        files: what is read, each real file once.
        hidden: what is left out: its name, or that of a folder on the way, starts with a dot, or it is half-copied.
        repeated: links and other names of what is read already, each with that.
        problems: each thing that can neither be read nor be left out.
    """

    files: tuple[LocalFile, ...]
    hidden: tuple[str, ...]
    repeated: tuple[str, ...]
    problems: tuple[FaultlineError, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    @property
    def first_problem(self) -> FaultlineError:
        """The first of the problems, with how many more there are."""
        first, *others = self.problems
        more = f" ({len(others)} more problems in the input)" if others else ""
        return type(first)(f"{first}{more}")

    @property
    def left_out(self) -> tuple[str, ...]:
        """Paths that are not read, each with the reason."""
        return (*(f"{name} is hidden or half-copied" for name in self.hidden), *self.repeated)
