"""Counting what a journey through the studio costs a person."""

from __future__ import annotations

from dataclasses import dataclass

from playwright.sync_api import Locator, Page


@dataclass
class Clicks:
    """A person with a mouse: every click counts; typing and waiting for a page do not."""

    page: Page
    count: int = 0

    def click(self, target: Locator) -> None:
        """Click on an element that is visible without opening anything else first.

        Waits for the page that the click leads to: a page is visible before its scripts listen, and the next
        click would come too early for them.
        """
        target.click()
        target.page.wait_for_load_state()
        self.count += 1

    def check(self, target: Locator) -> None:
        """Tick a box or choose a radio button, which is a click, too."""
        target.check()
        self.count += 1
