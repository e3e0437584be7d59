-- A claim changes no indexed column: where its page has room, the row's new version stands beside the old one and no
-- index hears of it.
ALTER TABLE groups SET (fillfactor = 40);
