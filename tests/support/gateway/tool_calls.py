"""Tools, and calls of them in the text of a model."""


TOOLS = [{"type": "function", "function": {"name": name, "parameters": {
    "type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}}} for name in ("add", "look")]
HERMES = '<tool_call>\n{"name": "add", "arguments": {"x":  1}}\n</tool_call>'
SECOND = '<tool_call>{"name": "look", "arguments": {"x": 2}}</tool_call>'
