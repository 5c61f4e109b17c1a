"""What bin/statements.py counts."""

from __future__ import annotations

from tests.given.scripts import script

SOURCE = '''
"""A module."""
import os
from a import b

LIMIT = 3
"""Most of them."""

class A:
    """A class."""
    x: int = 1

    def f(self):
        """A method."""
        from c import d
        if d:
            return 1; pass
        else:
            print(f"a {d}")
'''


def test_every_statement_counts_but_docstrings_and_imports() -> None:
    # LIMIT, class, x, def, if, return, pass, print
    assert script("statements").statements(SOURCE) == 8


def test_a_function_without_a_body_of_its_own_counts_itself_and_the_ellipsis() -> None:
    assert script("statements").statements("def f(): ...") == 2
