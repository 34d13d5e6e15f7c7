"""Search queries as words, and excerpts that show the matches in a text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from versioning.domain.text_search import (
    LENGTH,
    MAX_WORD,
    Piece,
    TextQuery,
    beginning,
    excerpt,
    mark_hits,
    word_line,
)


def has(text: str, typed: str) -> bool:
    return TextQuery(typed).is_in([word_line(text)])


def shown(pieces: list[Piece] | None) -> str:
    assert pieces is not None
    return "".join(f"[{piece.text}]" if piece.is_hit else piece.text for piece in pieces)


def test_matching_texts() -> None:
    for text, typed in (
        ("Refund policy", "refund"),
        ("Refund policy", "POLIC ref"),
        ("Refund policy", '"refund policy"'),
        ("Refund policy", '"refund pol'),
        ("Ask {{ customer.name || 'you' }}", "{{customer.name}}"),
        ("Ask {{ customer.name || 'you' }}", "customer.na"),
        ("order_id", "id"),
        ("Über die Straße", "uber STRASSE"),
        ("uber die strasse", "Über Straße"),
        ("cafe\N{COMBINING ACUTE ACCENT}", "café"),
        ("東京タワーへ", "京タ"),
        ("これは東京です", "東京"),
        ("a AND b OR c", "or AND"),
        ("call NEAR(x, y)", "NEAR(x"),
        ("100% sure", "100%"),
        ("İstanbul", "istanbul"),
        ("हिन्दी में", "हिन्दी"),
        ("w" * 300, "w" * 200),
        ("<script>alert(1)</script>", "<script>alert"),
        ("don't", "don\N{RIGHT SINGLE QUOTATION MARK}t"),
        ("go to R or C", "r"),
    ):
        assert has(text, typed)
        assert any(piece.is_hit for piece in mark_hits(text, TextQuery(typed)))


def test_texts_that_do_not_match() -> None:
    for text, typed in (
        ("Refund policy", "fund"),
        ("Refund policy", '"policy refund"'),
        ("Refund of the policy", '"refund policy"'),
        ("Refund policies", '"refund polic"'),
        ("refund", "refund policy"),
        ("router", "r"),
        ("name of the customer", "customer.name"),
        ("東の京", "東京"),
    ):
        assert not has(text, typed)


def test_punctuation_alone_is_not_a_word() -> None:
    for typed in ("", " ", "||", '""', "{{ }}", '"', "*", "\t\n"):
        assert TextQuery(typed).terms == ()


@given(st.text(), st.text(max_size=200))
def test_any_text_can_be_searched_for_and_no_piece_of_a_text_is_lost(text: str, typed: str) -> None:
    query = TextQuery(typed)
    assert "".join(piece.text for piece in mark_hits(text, query)) == text
    assert all(len(word) <= MAX_WORD for term in query.terms for word in term.words)
    excerpt(text, query)
    excerpt(text, query, inside=True)


def test_an_excerpt_is_the_part_with_the_most_matching_words() -> None:
    text = "policy " * 60 + "and then, for Clémentine, the Refund-policy of <b>ours</b> " + "more " * 100
    found = shown(excerpt(text, TextQuery("refund clementine policy")))
    assert "[Clémentine], the [Refund]-[policy] of <b>ours</b>" in found
    assert found.startswith("…") and found.endswith("…") and len(found) < LENGTH + 20


def test_hits_far_into_a_long_text_are_found() -> None:
    text = "filler ä " * 30_000 + "at last the needle."
    assert "[needle]" in shown(excerpt(text, TextQuery("needle")))
    assert excerpt(text, TextQuery("haystack")) is None


def test_without_a_hit_an_excerpt_is_the_beginning() -> None:
    assert shown(beginning("one two")) == "one two"
    assert shown(beginning("word " * 100)).endswith("word…")


def test_matches_inside_of_words_are_marked_exactly() -> None:
    text = "Die Rückerstattungsrichtlinie"
    assert shown(mark_hits(text, TextQuery("RICHTLINIE"), inside=True)) == "Die Rückerstattungs[richtlinie]"
