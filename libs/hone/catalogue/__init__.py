"""Catalogues of members that load by name: Hone's own members from a record, others from entry points of packages."""
