"""Real servers, started by hand as children of the test: PostgreSQL, RabbitMQ, S3."""
