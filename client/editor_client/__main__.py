"""`python -m editor_client` and the command `editor`: see `editor_client.transfer.command_line`."""

import sys

from editor_client.transfer.command_line import main

if __name__ == "__main__":
    sys.exit(main())
