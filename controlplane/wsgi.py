"""Django, as a WSGI application.

Served by controlplane.asgi, through our bridge; or alone, without the fast paths:
`granian --interface wsgi --blocking-threads 4 controlplane.wsgi:application`.
"""

import gc
import os

from django.core.wsgi import get_wsgi_application

from controlplane.web.chunked_bodies import KnownLength

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings.production")
application = KnownLength(get_wsgi_application())
# What was loaded stays for good. Without this each full collection walks through all of it again, which
# doubled the time of applying ten thousand documents.
gc.collect()
gc.freeze()
# Python looks for cycles after every 700 new objects. Answers and applies of thousands of documents make no
# cycles and millions of objects: looking took a quarter of their time.
gc.set_threshold(100_000, 20, 20)
