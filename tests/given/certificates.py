"""Certificates that nobody but a test's own servers has."""

from __future__ import annotations

import subprocess
from pathlib import Path


def self_signed(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate and its key, both PEM, made by openssl."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(certificate),
         "-days", "2", "-subj", f"/CN={name}"],
        check=True, capture_output=True,
    )  # fmt: skip
    return certificate, key
