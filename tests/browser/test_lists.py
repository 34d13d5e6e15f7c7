"""Finding one of many: journeys with their clicks, and what the lists do with a mouse, keys and a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.clicks import Clicks
from tests.browser.conftest import NARROW, Enter
from tests.browser.flaws import MISPLACED, serious_problems
from tests.browser.prompts import editor
from tests.support.service import Service

_MANY = """
from django.db import transaction
from tests.support.factories import PromptBlockFactory, PromptBlockVersionFactory, insert_rows

versions = [
    PromptBlockVersionFactory.build(
        resource_id=f"shop/aisle-{number % 7}/article-{number:03}",
        config={"name": f"Article {number:03}", "content": f"Sell article {number:03} in a friendly way."},
        search_text=f"article {number:03}",
    )
    for number in range(400)
]
blocks = [PromptBlockFactory.build(version=version, workspace_id="elsewhere") for version in versions]
for place in (5, 6):
    versions.append(
        PromptBlockVersionFactory.build(
            resource_id=versions[place].resource_id,
            number=2,
            config={"name": f"Article 00{place}", "content": "Not live yet."},
        )
    )
    blocks[place].latest_version_id, blocks[place].last_number = versions[-1].pk, 2
with transaction.atomic():
    insert_rows(blocks)
    insert_rows(versions)
"""


@pytest.fixture(scope="session")  # as long as the service
def many(studio_service: Service, keys: dict[str, str]) -> None:
    """Four hundred prompt blocks in charlie's workspace, of which two have unpublished changes."""
    studio_service.manage("shell", "--no-imports", "-c", _MANY)


def blocks(enter: Enter, query: str) -> Page:
    return enter("charlie", f"versioning/promptblock/{query}")


def test_one_of_400_is_found_changed_previewed_and_published(enter: Enter, many: None) -> None:
    page = enter("charlie")
    person = Clicks(page)
    person.click(page.get_by_role("navigation").get_by_role("link", name="Prompt blocks").first)
    search = page.locator("#filter-q")
    search.fill("Article 237")
    search.press("Enter")
    row = page.locator("table.rows tbody tr")
    expect(row).to_have_count(1)
    person.click(row.get_by_role("link", name="Article 237"))
    editor(page, "Text").fill("Sell {{ article || 'it' }} in a very friendly way.")
    expect(page.get_by_text("Sell it in a very friendly way.")).to_be_visible()  # the preview, while typing
    person.click(page.get_by_role("button", name="Publish…"))
    person.click(
        page.locator("form[method=post] button.button-primary[type=submit]").filter(has_text="Publish")
    )
    expect(page.locator(".chip-published").first).to_be_visible()
    assert person.count <= 6


def test_a_click_on_a_row_opens_it_except_on_its_controls(enter: Enter, many: None) -> None:
    page = blocks(enter, "?order=name")
    row = page.locator("table.rows tbody tr").nth(3)
    row.get_by_role("checkbox").check()
    row.get_by_role("button", name="Star Article 003").click()
    expect(row.get_by_role("button", name="Star Article 003")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text("1 chosen")).to_be_visible()
    box = row.locator(".rows-excerpt").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 60, box["y"] + 5)
    page.wait_for_url("**article-003/change/")
    page.go_back()
    page.locator("table.rows tbody tr").nth(4).get_by_role("link", name="Folder shop/aisle-4/").click()
    page.wait_for_url("**folder=shop%2Faisle-4%2F*")
    expect(page.get_by_text("57 prompt blocks")).to_be_visible()


def test_folders_are_next_to_the_list_or_open_above_it(enter: Enter, many: None) -> None:
    page = blocks(enter, "?folder=shop/")
    folders = page.get_by_role("navigation", name="Folders")
    expect(folders).to_be_visible()
    page.set_viewport_size({"width": NARROW, "height": 900})
    page.reload()
    expect(folders).to_be_hidden()
    page.locator("details.folders > summary").click()
    folders.get_by_role("link", name="aisle-2 57").click()
    expect(page.get_by_text("57 prompt blocks")).to_be_visible()
    assert page.evaluate(MISPLACED) == []


def test_resources_selected_with_the_keyboard_are_tagged_and_reported(enter: Enter, many: None) -> None:
    page = blocks(enter, "?q=article 01&order=name")
    page.get_by_role("checkbox", name="Choose Article 010").press("Space")
    page.get_by_role("checkbox", name="Choose Article 011").press("Space")
    page.get_by_role("button", name="Tag…").press("Enter")
    expect(page.get_by_role("heading", name="Tag 2 resources")).to_be_visible()
    assert serious_problems(page) == []
    page.get_by_label("Tags to add").fill("spring, sale")
    page.get_by_label("Tags to add").press("Enter")
    expect(page.get_by_text("2 now have other tags")).to_be_visible()
    page.get_by_role("link", name="Back", exact=True).click()
    page.get_by_role("link", name="#spring").first.click()
    expect(page.get_by_text("2 prompt blocks")).to_be_visible()
    page.get_by_text("Save this filter").click()
    page.get_by_label("Name of the filter").fill("Spring")
    page.get_by_label("Name of the filter").press("Enter")
    filters = page.get_by_role("navigation", name="Your filters")
    expect(filters.get_by_role("link", name="Spring")).to_be_visible()
    assert serious_problems(filters) == []
