"""Call a model directly, without an agent: one answer as text, not reported to observers of runs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from versioning.domain.texts import storable_text
from versioning.runtime.observing import PricedModel, Prices
from versioning.runtime.preloading import load_agent_library

if TYPE_CHECKING:
    from decimal import Decimal

    from versioning.runtime.calls import Turn
    from versioning.runtime.store import AgentStore


class ModelAnswer(NamedTuple):
    """The text of an answer, the tokens of the request and of the answer, and their cost."""

    text: str
    input_tokens: int
    output_tokens: int
    cost: Decimal | None
    """In US dollars; None if the price is unknown."""


def ask(
    model: Mapping[str, Any],
    instructions: str,
    turns: Sequence[Turn],
    *,
    seconds: float,
    store: AgentStore,
) -> ModelAnswer:
    """Return the answer of a model to a conversation, at the lowest temperature.

    `store` knows the providers and the prices. Blocks until the answer is complete; a refusal is not retried.
    Raises `NoModel`, `ProviderUnavailable`, and `ProviderFailed` if there is no answer within this many
    seconds.
    """
    load_agent_library()
    # Not at the top: they load the agent library: 50 MiB that a worker without runs does not need.
    from pydantic_ai.direct import model_request  # noqa: PLC0415
    from pydantic_ai.messages import ModelMessage, ModelRequest, SystemPromptPart  # noqa: PLC0415
    from pydantic_ai.settings import ModelSettings  # noqa: PLC0415

    from versioning.runtime.failures import make_failure  # noqa: PLC0415
    from versioning.runtime.runner import background_loop  # noqa: PLC0415
    from versioning.runtime.transcripts import model_history  # noqa: PLC0415

    background = background_loop()
    background.refuse_own_thread()
    catalog = store.providers()
    chosen = background.strict_providers.model("scorer", model, catalog)
    priced = PricedModel.of(model, catalog, chosen.system)
    messages: list[ModelMessage] = [ModelRequest(parts=[SystemPromptPart(instructions)])]
    messages += model_history(turns)
    settings = ModelSettings(temperature=0, timeout=seconds)

    async def answer() -> Any:
        async with asyncio.timeout(seconds):
            return await model_request(chosen, messages, model_settings=settings)

    try:
        response = background.run(answer())
    except Exception as error:
        raise make_failure(error, agent_id="scorer", provider=priced.provider, in_request=True) from error
    used = response.usage
    cost = Prices(store.prices()).of_messages(priced, [response], used.input_tokens, used.output_tokens)
    return ModelAnswer(storable_text(response.text or ""), used.input_tokens, used.output_tokens, cost)
