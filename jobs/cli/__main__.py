"""`python -m jobs.cli`."""

from jobs.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
