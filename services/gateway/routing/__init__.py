"""Routes: names under which one of several models answers."""
