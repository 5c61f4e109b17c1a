"""Runs commands one after another in one process, so that its JVM is warm from the second on.

Reads a JSON list of arguments a line and answers each with a line of JSON: `exit_code`, `answer` (what the command
printed) and `complaint` (the last line that it wrote to stderr).
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys

from jobs.cli.main import main as run


def main() -> None:
    """Answer until there is no more to read."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the JVM prints is not an answer
    for line in sys.stdin:
        answer, progress = io.StringIO(), _Shown()
        with contextlib.redirect_stdout(answer), contextlib.redirect_stderr(progress):
            exit_code = run(json.loads(line))
        said = progress.getvalue()
        complaint = said.splitlines()[-1] if exit_code and said else ""
        reply = {"exit_code": exit_code, "answer": answer.getvalue(), "complaint": complaint}
        print(json.dumps(reply), file=replies, flush=True)


class _Shown(io.StringIO):
    """Keeps what is written, and shows it at once."""

    def write(self, text: str) -> int:
        """Text to both."""
        print(text, end="", file=sys.__stderr__, flush=True)
        return super().write(text)


if __name__ == "__main__":
    main()
