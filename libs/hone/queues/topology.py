"""The queues. The declarations are the same for every broker, which ignores the arguments that it does not know."""

from kombu import Exchange, Queue


def _hints(name: str) -> Queue:
    return Queue(name, Exchange(""), routing_key=name, queue_arguments={
        "x-queue-type": "quorum",
        "x-delivery-limit": 3,  # a hint whose worker died three times becomes a dead letter
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": f"{name}.dead",
        "x-max-length": 1000,  # more hints wake nobody
        "x-overflow": "reject-publish",
    })


def _dead(name: str) -> Queue:
    return Queue(f"{name}.dead", Exchange(""), routing_key=f"{name}.dead", queue_arguments={
        "x-queue-type": "quorum",
        "x-max-length": 1000,
    })


ROLLOUTS, GRADES = _hints("rollouts"), _hints("grades")
"""Hints for rollout workers and for reward services. The messages are empty: the work is in the rows."""

DEAD_ROLLOUTS, DEAD_GRADES = _dead("rollouts"), _dead("grades")
"""Dead letters: messages that were no hints. No process reads them; a person may."""

CLAIM_ROLLOUTS, CLAIM_GRADES = "rollouts.claim", "grading.claim"
"""Names of the Celery tasks that claim groups, and grades."""
