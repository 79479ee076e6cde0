"""Tool calls and reasoning that a model or its server left in the content instead of the fields made for them.

Knows: the shapes seen in real output. Must not know: what becomes of such an answer (it is scored as it stands; the flags
`call_in_content` and `reasoning_in_content` name it).
"""

from __future__ import annotations

import re

from sandbox.endpoint.lenient import mapping, parsed

MARKUP = re.compile(
    r"<tool_call>|<\|tool_call|<\|tool_calls_section_begin\|>|<\|channel\|>commentary to=|\[TOOL_CALLS\]|<function="
    r"|<\|python_tag\|>|<tool▁call|<｜tool▁calls"
)
REASONING = re.compile(r"\A\s*<(?:think|thinking|reasoning)>|</(?:think|thinking|reasoning)>\s|<\|channel\|>analysis")
"""Opened at the very beginning, or closed anywhere (templates that open it in the prompt leave only the end)."""
FENCE = re.compile(r"\A\s*(?:```(?:json|tool_code)?\s*)?(\{.*\})\s*(?:```)?\s*\Z", re.DOTALL)


def leaked_call(content: str) -> bool:
    """True where the content holds tool-call markup, or is nothing but one JSON call (fenced or bare).

    A JSON object counts only with a string `name` and an object of `arguments` or `parameters`: a package.json in a
    code fence is an answer, not a call.
    """
    if MARKUP.search(content):
        return True
    found = FENCE.match(content)
    if found is None:
        return False
    call = mapping(parsed(found.group(1)))
    arguments = call.get("arguments", call.get("parameters"))
    return isinstance(call.get("name"), str) and isinstance(arguments, dict)


def leaked_reasoning(content: str) -> bool:
    """True where the content begins with reasoning, or holds the end of one: the server has no parser for it."""
    return REASONING.search(content) is not None
