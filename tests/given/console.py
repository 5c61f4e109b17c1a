"""What a page in a browser says of itself."""

from __future__ import annotations

from playwright.sync_api import Page


def console_of(page: Page) -> list[str]:
    """What its scripts write to the console, and their errors, from now on."""
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    return said
