"""The arguments of a call, and how invalid ones are named."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.factories import CodeAgentFactory
from versioning.domain.errors import Invalid
from versioning.runtime import Agent, Framework


def agent(**changes: Any) -> Agent:
    made = CodeAgentFactory(**{"id": "a", "instructions": "text", **changes})
    Framework(agents=[made])
    return made


def test_messages_are_accepted_in_several_forms() -> None:
    for messages in (
        "hello",
        {"role": "user", "content": "hello"},
        [{"role": "user", "content": "hello"}],
        [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hello"}],
        [{"role": "user", "content": [{"type": "text", "text": "hel"}, {"type": "text", "text": "lo"}]}],
    ):
        assert agent().generate(messages).text == "text\n\nhello"


def test_other_messages_are_refused_by_name() -> None:
    for messages, fields in (
        (None, ["messages"]),
        (7, ["messages"]),
        ("", ["messages"]),
        (" ", ["messages"]),
        ([], ["messages"]),
        (["hello"], ["messages.0"]),
        ({"content": "x"}, ["messages.role"]),
        ({"role": "user"}, ["messages.content"]),
        ({"role": "user", "content": "x", "name": "n"}, ["messages.name"]),
        ([{"role": "tool", "content": "x"}], ["messages.0.role"]),
        ([{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}], ["messages.1.role"]),
        (
            [{"role": "user", "content": 1}, {"role": ["user"], "content": ""}],
            ["messages.0.content", "messages.1.role", "messages.1.content"],
        ),
        (
            [{"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image"}]}],
            ["messages.0.content.1"],
        ),
        ([{"role": "user", "content": []}], ["messages.0.content"]),
    ):
        with pytest.raises(Invalid) as refusal:
            agent().generate(messages)
        assert [issue.field for issue in refusal.value.issues] == fields


def test_wrong_options_are_refused_by_their_json_names() -> None:
    for options, field in (
        ({"max_steps": 0}, "maxSteps"),
        ({"max_steps": True}, "maxSteps"),
        ({"max_steps": "3"}, "maxSteps"),
        ({"instructions": ""}, "instructions"),
        ({"instructions": ["x"]}, "instructions"),
        ({"model_settings": []}, "modelSettings"),
        ({"model_settings": {"heat": 1}}, "modelSettings.heat"),
        ({"model_settings": {"temperature": "hot"}}, "modelSettings.temperature"),
        ({"model_settings": {"maxTokens": True}}, "modelSettings.maxTokens"),
        ({"model_settings": {"stopSequences": [1]}}, "modelSettings.stopSequences"),
        ({"versions": {"agents": {"b": {}}}}, "versions.agents.b"),
        ({"request_context": {"versions": {"self": 1}}}, "requestContext.versions.self"),
        ({"request_context": []}, "requestContext"),
    ):
        with pytest.raises(Invalid) as refusal:
            agent().generate("hello", **options)
        assert [issue.field for issue in refusal.value.issues] == [field]
