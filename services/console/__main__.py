"""`python -m services.console`: serve the console until SIGTERM."""

import secrets

import uvicorn

from hone import addresses
from hone.process import startup
from hone.spec import settings as service_settings
from hone.stack.record import reachable
from services.console import app

_GRACE_S = 3


def main() -> None:
    """Serve with this process's settings."""
    settings = service_settings.load()
    startup.begin("console", settings)
    host, port = addresses.parts(settings.addresses.console)
    console = app.create(f"http://{reachable(settings.addresses.gateway)}", secrets.token_urlsafe(32))
    uvicorn.run(console, host=host, port=port, log_config=None, access_log=False, server_header=False,
                timeout_graceful_shutdown=_GRACE_S)


if __name__ == "__main__":
    main()
