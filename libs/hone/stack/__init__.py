"""The embedded stack, `hone up` in a function call: hone.stack.embedded.Stack."""
