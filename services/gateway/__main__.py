"""`python -m services.gateway`: serve the REST surface until SIGTERM."""

import uvicorn

from hone import addresses
from hone.harnesses import own
from hone.process import startup
from hone.spec import settings as service_settings
from hone.store import objects
from hone.store.database import AsyncDatabase
from services.gateway.app import create

_GRACE_S = 3


def main() -> None:
    """Serve with the settings of this process's environment."""
    settings = service_settings.load("stack_token")
    own.add(settings.harnesses)
    startup.begin("gateway", settings)
    host, port = addresses.parts(settings.addresses.gateway)
    app = create(settings, AsyncDatabase(settings.gateway_database_url), objects.connect(settings.objects_url))
    uvicorn.run(app, host=host, port=port, log_config=None, access_log=False, server_header=False,
                timeout_graceful_shutdown=_GRACE_S)


if __name__ == "__main__":
    main()
