"""The Celery application of every process: JSON, late acknowledgement, no results, no messages between workers."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from celery import Celery

from hone.queues.topology import DEAD_GRADES, DEAD_ROLLOUTS, GRADES, ROLLOUTS
from hone.spec.settings import Settings

CONNECT_TIMEOUT_S = 1.0
POLL_S = 0.01
"""Seconds between two looks at a broker's folder, if the system does not report new files there, or if the folder holds
messages that no worker had time for."""


def create(settings: Settings, poll_s: float = POLL_S) -> Celery:
    """Return a Celery application for the broker of these settings. It connects when it is first used.

    `poll_s` is the pause between two looks at a broker's folder, see POLL_S.
    """
    application = Celery("hone", set_as_current=False, broker=settings.broker_url.replace(":///", "://localhost/"))
    application.conf.update(
        **_transport(settings, poll_s),
        broker_connection_timeout=CONNECT_TIMEOUT_S,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_channel_error_retry=True,  # RabbitMQ closes the channel of a worker that was busy for half an hour
        broker_heartbeat=10,
        task_queues=[ROLLOUTS],
        task_default_queue=ROLLOUTS.name,
        task_default_queue_type="quorum",
        task_default_exchange="",
        task_default_routing_key=ROLLOUTS.routing_key,
        task_create_missing_queues=False,
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        task_acks_late=True,
        task_acks_on_failure_or_timeout=False,  # a message that no task can take is a dead letter
        task_reject_on_worker_lost=True,
        worker_detect_quorum_queues=True,
        worker_prefetch_multiplier=1,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_consumer="hone.queues.consumer:Consumer",
    )
    return application


def declare(connection: Any) -> None:
    """Create the queues if they do not exist."""
    for queue in (DEAD_ROLLOUTS, DEAD_GRADES, ROLLOUTS, GRADES):
        queue.bind(connection.default_channel).declare()


def tls(broker_url: str) -> dict[str, str | None] | bool:
    """Return kombu's options for TLS, False without TLS.

    Without a name kombu would take the certificate of any server. Roots are the system's, or SSL_CERT_FILE's.
    """
    place = urlsplit(broker_url)
    return {"server_hostname": place.hostname} if place.scheme == "amqps" else False


def _transport(settings: Settings, poll_s: float) -> dict[str, Any]:
    if urlsplit(settings.broker_url).scheme != "filesystem":
        return {"broker_use_ssl": tls(settings.broker_url), "broker_transport_options": {"confirm_publish": True}}
    folder = Path(urlsplit(settings.broker_url).path)
    folder.mkdir(parents=True, exist_ok=True)
    return {
        "broker_transport": "hone.queues.folder:Transport",
        "broker_transport_options": {
            "data_folder_in": str(folder), "data_folder_out": str(folder), "control_folder": str(folder),
            "polling_interval": poll_s,
        },
    }
