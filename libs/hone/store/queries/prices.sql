-- Price lists.

-- name: newest
SELECT nullif(since, '-infinity') AS since, currency, prompt_tokens, completion_tokens, scored_tokens, trained_tokens,
    grading_s, trainer_s FROM prices
ORDER BY prices.since DESC LIMIT 1

-- name: add
INSERT INTO prices (currency, prompt_tokens, completion_tokens, scored_tokens, trained_tokens, grading_s, trainer_s)
VALUES (%(currency)s, %(prompt_tokens)s, %(completion_tokens)s, %(scored_tokens)s, %(trained_tokens)s, %(grading_s)s,
    %(trainer_s)s)
