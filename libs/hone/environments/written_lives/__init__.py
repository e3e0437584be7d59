"""Lives of changing users that a model writes, and rows that hold them."""
