"""Read and forget whatever comes to port 4318."""

import asyncio


async def _drain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while await reader.read(65536):
        pass
    writer.close()


async def main() -> None:
    """Serve until ended."""
    server = await asyncio.start_server(_drain, "0.0.0.0", 4318)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
