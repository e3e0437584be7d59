"""The queues. The declarations are the same for every broker, which ignores the arguments that it does not know."""

from kombu import Exchange, Queue

ROLLOUTS = Queue("rollouts", Exchange(""), routing_key="rollouts", queue_arguments={
    "x-queue-type": "quorum",
    "x-delivery-limit": 3,  # a hint whose worker died three times becomes a dead letter
    "x-dead-letter-exchange": "",
    "x-dead-letter-routing-key": "rollouts.dead",
    "x-max-length": 1000,  # more hints wake nobody
    "x-overflow": "reject-publish",
})
"""Hints for rollout workers. The messages are empty: the work is in the rows."""

DEAD_ROLLOUTS = Queue("rollouts.dead", Exchange(""), routing_key="rollouts.dead", queue_arguments={
    "x-queue-type": "quorum",
    "x-max-length": 1000,
})
"""Dead letters: messages that were no hints. No process reads them; a person may."""

CLAIM_ROLLOUTS = "rollouts.claim"
"""Name of the Celery task that claims groups."""
