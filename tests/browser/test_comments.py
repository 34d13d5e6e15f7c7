"""Comments in a browser: on a line, on selected words, while another text is typed, with the keyboard."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.clicks import Clicks
from tests.browser.conftest import NARROW, Enter
from tests.browser.flaws import flaws, serious_problems
from tests.browser.prompts import editor
from tests.support.api import AGENTS, PROMPT_BLOCKS
from tests.support.remote import RemoteApi

Everybody = Callable[[str], RemoteApi]
OLD = "Be kind.\nBe brief.\nNever lie."


def made(api_of: Everybody, name: str) -> str:
    """Make an agent with a draft over its published version, and return the draft's id."""
    with_live = AGENTS.make(api_of("paula"), name, "Be kind.\nBe short.\nNever lie.", autoPublish=True)
    assert with_live["activeVersionId"]
    return str(AGENTS.save(api_of("edgar"), name, OLD)["latestVersionId"])


def select(page: Page, words: str) -> None:
    """Select words of the instructions, as with a mouse or a finger."""
    page.evaluate(
        """words => {
            const field = document.getElementById("field-instructions");
            const nodes = document.createTreeWalker(field, NodeFilter.SHOW_TEXT);
            while (nodes.nextNode()) {
                const node = nodes.currentNode;
                const start = node.data.indexOf(words);
                if (start < 0) continue;
                getSelection().setBaseAndExtent(node, start, node, start + words.length);
                return;
            }
        }""",
        words,
    )


def test_a_line_is_commented_on_answered_and_outdated_by_the_next_draft(
    enter: Enter, api_of: Everybody
) -> None:
    made(api_of, "commented")
    agent = "versioning/agent/commented"
    page = enter("paula", f"{agent}/compare/")
    paula = Clicks(page)
    field = page.locator("#field-instructions")
    paula.click(field.locator(".diff-no:visible", has_text="2").last)
    expect(page.get_by_label("Comment on Instructions").and_(page.locator("textarea"))).to_be_focused()
    page.keyboard.type("How brief exactly?")
    paula.click(field.get_by_role("button", name="Comment", exact=True))
    thread = field.locator(".thread")
    expect(thread).to_contain_text("How brief exactly?")
    expect(thread.locator("blockquote")).to_have_text("Be brief.")
    expect(thread).to_contain_text("line 2")
    expect(thread).to_be_focused()
    assert paula.count == 2

    page = enter("edgar", f"{agent}/change/", width=NARROW)
    text = editor(page)
    text.fill("Be kind.\nOne sentence.\nNever lie.")
    thread = page.locator("#comments .thread")
    expect(thread).to_contain_text("How brief exactly?")
    thread.get_by_text("Reply", exact=True).first.click()
    thread.get_by_label("Your reply").fill("One sentence. Saved in a moment.")
    thread.get_by_role("button", name="Reply").click()
    expect(thread).to_contain_text("Saved in a moment")
    expect(text).to_contain_text("One sentence.")  # nothing that was typed is lost
    page.get_by_role("button", name="Save draft").click()
    expect(page.locator("#comments .thread")).to_contain_text("Outdated")
    expect(page.locator("#comments .thread blockquote")).to_have_text("Be brief.")

    page = enter("paula", f"{agent}/compare/", width=NARROW)
    thread = page.locator("#field-instructions .thread")
    expect(thread).to_contain_text("Outdated")
    thread.get_by_role("button", name="Resolve").click()
    expect(page.locator("#field-instructions .threads-resolved")).to_contain_text("Resolved by you")


def test_selected_words_are_quoted_and_text_typed_elsewhere_is_preserved(
    enter: Enter, api_of: Everybody
) -> None:
    version = made(api_of, "quoted-words")
    page = enter("edgar", f"versioning/agent/quoted-words/versions/{version}/")
    field = page.locator("#field-instructions")
    page.locator("#comments summary", has_text="Comment").click()
    page.get_by_label("Comment on version 2").fill("Half a thought")
    select(page, "brief")
    page.locator(".comment-here button").first.click()
    expect(field.get_by_label("About these words")).to_have_value("brief")
    page.keyboard.type("<b>Why?</b>")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(field.locator(".thread")).to_contain_text("<b>Why?</b>")
    expect(page.get_by_label("Comment on version 2")).to_have_value("Half a thought")
    page.get_by_label("Comment on version 2").fill(" ")
    page.locator("#comments").get_by_role("button", name="Comment").click()
    expect(page.locator("#comments [data-comment-problem]:visible")).to_have_text("Write something first.")
    page.get_by_label("Comment on version 2").fill("")
    thread = field.locator(".thread")
    thread.get_by_text("Edit", exact=True).click()
    page.once("dialog", lambda dialog: dialog.accept())
    thread.get_by_role("button", name="Delete the comment").click()
    expect(field.locator(".thread")).to_have_count(0)
    assert api_of("edgar").get("/comments", id="quoted-words").body["total"] == 0


def test_the_words_that_a_comment_quotes_are_marked_in_the_text(enter: Enter, api_of: Everybody) -> None:
    text = "- Be brief.\nNever  lie.\n- Be brief."
    draft = PROMPT_BLOCKS.make(api_of("edgar"), "marked", text)["latestVersionId"]
    about = {"resource": {"kind": "promptBlock", "id": "marked"}, "versionId": draft, "field": "content"}
    said = {**about, "line": 3, "quote": "- Be brief", "body": "<b>How brief?</b>"}
    assert api_of("paula").post("/comments", said).status == 201
    page = enter("edgar", "versioning/promptblock/marked/change/")
    marked = page.locator(".prompt-mark")
    expect(marked).to_have_text("- Be brief")
    expect(page.locator(".cm-line").nth(2).locator(".prompt-mark")).to_be_visible()
    marked.hover()
    expect(page.locator(".prompt-about")).to_contain_text("paula")
    expect(page.locator(".prompt-about")).to_contain_text("<b>How brief?</b>")
    assert flaws(page, page.locator(".prompt-about")) == []
    # By keyboard: what is typed before the words moves them along; the cursor in them tells who says what.
    editor(page, "Text").focus()
    page.keyboard.press("Control+Home")
    page.keyboard.type("Hello!\n")
    expect(page.locator(".cm-line").nth(3).locator(".prompt-mark")).to_have_text("- Be brief")
    page.keyboard.press("Control+End")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".cm-announced")).to_contain_text("paula: <b>How brief?</b>")
    page.keyboard.press("Alt+Enter")
    thread = page.locator("#comments .thread")
    expect(thread).to_be_focused()
    expect(page.locator(".cm-line").first).to_have_text("Hello!")
    # A new comment is marked at once, a resolved one no longer.
    page.locator("#comments summary", has_text="Comment").last.click()
    page.get_by_label("About", exact=True).select_option("content")
    page.get_by_label("About these words").fill("Never lie")
    page.get_by_label("Comment on version 1").fill("Why not?")
    page.locator("#comments").get_by_role("button", name="Comment", exact=True).click()
    expect(marked).to_have_text(["Never  lie", "- Be brief"])
    thread.first.get_by_role("button", name="Resolve").click()
    expect(marked).to_have_text(["Never  lie"])


def test_without_scripts_the_words_that_comments_quote_are_a_list(enter: Enter, api_of: Everybody) -> None:
    draft = made(api_of, "listed-words")
    about = {"resource": {"kind": "agent", "id": "listed-words"}, "versionId": draft, "field": "instructions"}
    said = api_of("paula").post("/comments", {**about, "line": 2, "body": "How brief?"})
    page = enter("edgar", "versioning/agent/listed-words/change/", has_scripts=False)
    expect(page.locator(".marked li")).to_have_text("Be brief. paula: How brief?")
    page.locator(".marked").get_by_role("link").press("Enter")
    expect(page.locator(f"#comment-{said.body['id']}")).to_be_in_viewport()


def test_the_place_of_words_is_that_where_they_were_chosen(enter: Enter, api_of: Everybody) -> None:
    """`a-not-her` has the letters of `not`, and the line that is pressed is there twice."""
    api = api_of("edgar")
    first = PROMPT_BLOCKS.make(api, "twice", "In mails:\nBe brief.")["latestVersionId"]
    text = "In mails:\nBe brief.\nOn the phone:\nBe brief.\nFind a-not-her; not 👩‍👩‍👧."
    second = PROMPT_BLOCKS.save(api, "twice", text)["latestVersionId"]
    for layout in ("inline", "side-by-side"):
        page = enter(
            "edgar", f"versioning/promptblock/twice/compare/?from={first}&to={second}&layout={layout}"
        )
        lines = page.locator("#field-content .diff-no:visible").and_(page.get_by_text("4", exact=True))
        lines.last.click()
        page.keyboard.type(f"Pressed, {layout}")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#field-content .thread", has_text=f"Pressed, {layout}")).to_be_visible()
    page = enter("edgar", f"versioning/promptblock/twice/versions/{second}/")
    page.evaluate(
        """text => {
            const node = document.querySelector("[data-path=content]").firstChild;
            getSelection().setBaseAndExtent(node, text.lastIndexOf("not"), node, text.lastIndexOf("not") + 3);
        }""",
        text,
    )
    page.locator(".comment-here button").first.click()
    page.keyboard.type("Selected")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#field-content .thread", has_text="Selected")).to_be_visible()
    comments = api.get("/comments", id="twice").body["comments"]
    assert {one["body"]: one["line"] for one in comments} == {
        "Pressed, inline": 4,
        "Pressed, side-by-side": 4,
        "Selected": 5,
    }
    page = enter("edgar", "versioning/promptblock/twice/change/")
    marks = page.locator(".prompt-mark")
    expect(marks).to_have_count(3)  # two of the pressed line, of which one is in the other
    before = (
        "e => { const line = e.closest('.cm-line').textContent; return line.indexOf(e.textContent, 10); }"
    )
    assert marks.last.evaluate(before) == len("Find a-not-her; ")


def test_words_copied_from_the_edited_text_keep_their_place(enter: Enter, api_of: Everybody) -> None:
    """Unsaved lines above them make no difference: the comment is about the saved text."""
    api = api_of("edgar")
    PROMPT_BLOCKS.make(
        api, "copied", "In mails:\nBe brief.\nOn the phone:\nBe brief.", description="A not, a not."
    )
    page = enter("edgar", "versioning/promptblock/copied/change/")
    text = editor(page, "Text")
    text.press("Control+Home")
    page.keyboard.type("New:\nBe brief.\n")
    text.press("Control+End")
    text.press("Shift+Home")
    page.keyboard.press("Control+c")
    page.get_by_text("Comment", exact=True).first.click()
    page.locator("#new-comment").fill("Copied")
    quote = page.locator("#comment-quote")
    quote.press("Control+v")
    expect(quote).to_have_value("Be brief.")
    expect(page.locator("#comment-field")).to_have_value("content")
    quote.press("Control+Enter")
    expect(page.locator(".thread", has_text="Copied")).to_be_visible()
    page.get_by_text("Name and description").click()
    description = page.locator('[name="description"]')
    description.press("End")
    description.press("ArrowLeft")
    for _ in "not":
        description.press("Shift+ArrowLeft")
    page.keyboard.press("Control+c")
    page.get_by_text("Comment", exact=True).first.click()
    page.locator("#new-comment").fill("Described")
    quote.press("Control+v")
    expect(quote).to_have_value("not")
    expect(page.locator("#comment-field")).to_have_value("description")
    quote.press("Control+Enter")
    expect(page.locator(".thread", has_text="Described")).to_be_visible()
    comments = api.get("/comments", id="copied").body["comments"]
    assert {one["body"]: (one["field"], one["line"]) for one in comments} == {
        "Copied": ("content", 4),
        "Described": ("description", 1),
    }
    page.reload()
    start = page.locator("[data-mark][data-control=content]").get_attribute("data-start")
    assert start == str(len("In mails:\nBe brief.\nOn the phone:\n"))


@pytest.mark.parametrize("width", [NARROW, 768, 1280])
def test_a_wording_is_suggested_where_the_difference_is_and_accepted_with_one_click(
    enter: Enter, api_of: Everybody, width: int
) -> None:
    name = f"worded-{width}"
    made(api_of, name)
    page = enter("paula", f"versioning/agent/{name}/publish/", width=width)
    field = page.locator("#field-instructions")
    select(page, "brief")
    page.locator(".comment-here button", has_text="Suggest a wording…").click()
    wording = field.get_by_label("Wording instead of these words")
    expect(wording).to_be_focused()
    expect(wording).to_have_value("brief")
    wording.fill("<b>short</b>\n& sweet")
    assert flaws(page) == []
    field.get_by_role("button", name="Suggest this wording").click()
    thread = field.locator(".thread")
    expect(thread).to_contain_text("<b>short</b>\n& sweet")
    expect(thread).to_be_focused()
    assert flaws(page) == []

    edgar = Clicks(enter("edgar", f"versioning/agent/{name}/compare/", width=width))
    assert flaws(edgar.page) == []
    edgar.click(edgar.page.get_by_role("button", name="Accept suggestion"))
    expect(edgar.page.get_by_text("Suggestion accepted. Version 3 is saved as a draft.")).to_be_visible()
    expect(edgar.page.locator("#field-instructions .threads-resolved")).to_be_visible()
    assert edgar.count == 1
    saved = api_of("edgar").get(f"/stored/agents/{name}?status=draft").body
    assert saved["instructions"] == OLD.replace("brief", "<b>short</b>\n& sweet")


def test_a_comment_that_is_being_written_survives_news_on_the_page_for_publishing(
    enter: Enter, api_of: Everybody
) -> None:
    made(api_of, "written-while-live")
    page = enter("paula", "versioning/agent/written-while-live/publish/")
    field = page.locator("#field-instructions")
    field.locator("summary", has_text="Comment").click()
    expect(field.locator("textarea:focus")).to_be_visible()
    page.keyboard.type("Half a thought")
    AGENTS.save(api_of("edgar"), "written-while-live", "Newer.")
    expect(page.get_by_text("This is not the newest version")).to_be_visible(timeout=15_000)
    expect(field.get_by_label("Comment on Instructions").and_(page.locator("textarea"))).to_have_value(
        "Half a thought"
    )


@pytest.mark.parametrize("width", [NARROW, 768, 1280])
def test_people_are_mentioned_by_name_with_the_keyboard(enter: Enter, api_of: Everybody, width: int) -> None:
    name = f"mentioning-{width}"
    made(api_of, name)
    page = enter("edgar", f"versioning/agent/{name}/compare/", width=width)
    field = page.locator("#field-instructions")
    field.locator("summary", has_text="Comment").click()
    expect(field.locator("textarea:focus")).to_be_visible()
    page.keyboard.type("Fine, @paul")
    option = page.locator(".pick-option:visible", has_text="paula")
    expect(option).to_have_attribute("aria-selected", "true")
    assert serious_problems(field) == []
    page.keyboard.press("Enter")
    page.keyboard.type("?\n@nobody at all")
    box = field.get_by_label("Comment on Instructions").and_(page.locator("textarea"))
    expect(box).to_have_value("Fine, @paula ?\n@nobody at all")
    expect(page.locator(".pick-option:visible")).to_have_count(0)
    page.keyboard.press("Control+Enter")
    thread = field.locator(".thread")
    expect(thread.locator(".mention")).to_have_text("@paula")
    # A reply offers people, too; Escape leaves what is typed.
    thread.get_by_text("Reply", exact=True).first.click()
    expect(thread.get_by_label("Your reply")).to_be_focused()
    page.keyboard.type("@al")
    expect(page.locator(".pick-option:visible", has_text="alice")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".pick-option:visible")).to_have_count(0)
    expect(thread.get_by_label("Your reply")).to_have_value("@al")
