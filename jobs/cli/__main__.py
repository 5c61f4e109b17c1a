"""`python -m jobs.cli`."""

from jobs.cli.main import process

if __name__ == "__main__":
    process()
