"""From a selector to the agent that an application gets.

`resolution` picks the version and has every rule of fallback, `choice` consults the capabilities, such as
rollouts, and `assembly` adds the prompt blocks and evaluates the templates. `grants` stores which resources a
published version may use. `followed_log` repeats a read if something changed meanwhile, and `answer_cache`
stores answers with their dependencies.
"""
