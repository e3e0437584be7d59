"""supervisord with logs that may fail: `python -m hone.stack.daemon`, with its options.

On a full disk neither the line of a process nor the error about it can be written. supervisord itself would end with
that error, and nobody would start processes again. Here such lines are lost.
"""

from supervisor import loggers, supervisord


def main() -> None:
    """Run until it is told to end."""
    loggers.Handler.handleError = lambda _: None
    supervisord.main()


if __name__ == "__main__":
    main()
