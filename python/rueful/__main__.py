"""The program ``rueful``: ``python -m rueful`` and the console script are the same."""

import signal
import sys

from ._rueful import program


def main() -> int:
    """Runs the program on the arguments of this process, and returns its exit code."""
    # The program listens for interrupts itself: the first ends the run, with its report.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return program(["rueful", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
