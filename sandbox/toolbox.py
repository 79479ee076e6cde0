"""The tools of a run, as the model is offered them and as its calls are read.

Knows: schemas, argument checking, what a bad call is answered with. Must not know: rounds, numbers, models.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from sandbox.endpoint.chat import Message, ToolCall, encode
from sandbox.endpoint.lenient import parsed
from tools.tool import Arguments, Tool, ToolFailure

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class ReadCall:
    """A call that can be made."""

    tool: Tool
    arguments: Arguments


class Toolbox:
    """Tools by name. Raises ValueError for two tools of one name."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        if len(self._tools) != len(tools):
            raise ValueError("two tools share a name")
        self.schemas: tuple[Message, ...] = tuple(_schema(tool) for tool in tools)
        self.schemas_sha256 = hashlib.sha256(encode(self.schemas)).hexdigest()
        """Hash of what the model reads of the tools; part of the provenance."""

    def read(self, call: ToolCall) -> ReadCall | ToolFailure:
        """The call with checked arguments, or the failure that the model is told."""
        tool = self._tools.get(call.name)
        if tool is None:
            known = ", ".join(self._tools)
            return ToolFailure("unknown_tool", f"no tool {call.name[:80]!r}; the tools are: {known}")
        values = parsed(call.arguments)
        if values is None:
            return ToolFailure(
                "bad_arguments", f"the arguments of {tool.name} are not valid JSON: {call.arguments[:120]!r}"
            )
        if not isinstance(values, dict):
            return ToolFailure("bad_arguments", f"the arguments of {tool.name} must be a JSON object")
        try:
            return ReadCall(tool, tool.arguments.model_validate(values))
        except ValidationError as error:
            problems = "; ".join(f"{'.'.join(map(str, e['loc']))[:80]}: {e['msg']}" for e in error.errors()[:3])
            return ToolFailure("bad_arguments", f"{tool.name}: {problems}")


def as_sent(call: ToolCall) -> Message:
    """The call as it goes back into the history: always a valid name and a valid JSON object.

    llama.cpp answers HTTP 500 to every later request once a malformed `arguments` string stands in the history; what the
    model really wrote stays in the record.
    """
    arguments = call.arguments if _is_object(call.arguments) else "{}"
    name = call.name if NAME.fullmatch(call.name) else "unknown_tool"
    return {"id": call.id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _is_object(text: str) -> bool:
    """Whether every server reads an object there: Python also takes NaN, 1e999 and half a character."""
    value = parsed(text)
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict)


def _schema(tool: Tool) -> Message:
    parameters = tool.arguments.model_json_schema()
    parameters.pop("title", None)
    parameters.pop("description", None)
    for shape in parameters.get("properties", {}).values():
        shape.pop("title", None)
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }
