"""The `hone` command."""

from hone import garbage

garbage.look_rarely()  # before the modules of a process are loaded
