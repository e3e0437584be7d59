"""The services of a stack, one folder each."""

from hone import garbage

garbage.look_rarely()  # before the modules of a process are loaded
