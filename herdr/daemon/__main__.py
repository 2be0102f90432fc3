"""`python -m herdr.daemon`: what `herdr up` starts in the background."""

import sys

from herdr.daemon.main import main

sys.exit(main())
