"""The queues and what they promise; the same declarations on every broker, which takes what it knows of them."""

from kombu import Exchange, Queue

ROLLOUTS = Queue("rollouts", Exchange(""), routing_key="rollouts", queue_arguments={
    "x-queue-type": "quorum",
    "x-delivery-limit": 3,  # a hint whose worker died three times is looked at by a person
    "x-dead-letter-exchange": "",
    "x-dead-letter-routing-key": "rollouts.dead",
    "x-max-length": 1000,  # nobody needs more wake-up calls than that
    "x-overflow": "reject-publish",
})
"""Wakes rollout workers. Messages are empty: the rows say what is to be done."""

DEAD_ROLLOUTS = Queue("rollouts.dead", Exchange(""), routing_key="rollouts.dead", queue_arguments={
    "x-queue-type": "quorum",
    "x-max-length": 1000,
})
"""Messages that were no hints, for a person to look at; nothing reads it."""

CLAIM_ROLLOUTS = "rollouts.claim"
"""Name of the task that claims groups by SQL."""
