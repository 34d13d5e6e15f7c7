"""The names of the model providers that the service has built in."""

from __future__ import annotations

from typing import Final

BUILT_IN: Final = frozenset(
    {
        *("alibaba", "anthropic", "azure", "azure-responses", "bedrock", "cerebras", "cohere", "crusoe"),
        *("deepseek", "fireworks", "google", "google-cloud", "groq", "heroku", "huggingface", "meta"),
        *("mistral", "moonshotai", "nebius", "ollama", "openai", "openai-chat", "openai-responses"),
        *("openrouter", "ovhcloud", "sambanova", "snowflake", "together", "vercel", "vllm", "xai", "zai"),
    }
)
