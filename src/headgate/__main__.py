"""`python -m headgate`, and the `headgate` command itself: who interrupts it while it is loaded is
answered as later."""

import os
import sys

try:
    from headgate.cli.main import main
except KeyboardInterrupt:
    sys.stderr.write("headgate: interrupted\n")
    sys.stderr.flush()
    os._exit(1)

if __name__ == "__main__":
    main()
