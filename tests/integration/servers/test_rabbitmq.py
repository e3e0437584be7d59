"""The tests' own broker is a real one: quorum queues, confirms, and RabbitMQ's own account of them."""

from kombu import Connection, Exchange, Producer, Queue

from tests.servers.rabbitmq import Server

QUEUE = Queue("contract", Exchange(""), routing_key="contract", queue_arguments={"x-queue-type": "quorum"})


def test_a_confirmed_message_stands_in_a_quorum_queue_until_it_is_purged(rabbitmq: Server) -> None:
    with Connection(rabbitmq.url, transport_options={"confirm_publish": True}) as connection:
        channel = connection.channel()
        bound = QUEUE(channel)
        bound.declare()
        Producer(channel).publish({}, routing_key="contract", delivery_mode=2)
        queue = rabbitmq.look("queues/%2F/contract")
        assert isinstance(queue, dict)
        assert queue["type"] == "quorum"
        assert bound.queue_declare(passive=True).message_count == 1
        rabbitmq.delete("queues/%2F/contract/contents")
        assert bound.queue_declare(passive=True).message_count == 0
