"""Django as a WSGI application.

It is served by controlplane.asgi through the bridge, or on its own without the fast paths:
`granian --interface wsgi --blocking-threads 4 controlplane.wsgi:application`.
"""

import gc
import os

from django.core.wsgi import get_wsgi_application

from controlplane.web.chunked_bodies import ContentLengthMiddleware

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings.production")
application = ContentLengthMiddleware(get_wsgi_application())
# Loaded modules are never freed. Otherwise each full collection would scan them again, which doubled the time
# of applying ten thousand documents.
gc.collect()
gc.freeze()
# By default, Python collects cycles after every 700 new objects. Large responses and applies create millions
# of objects without cycles: collections took a quarter of their time.
gc.set_threshold(100_000, 20, 20)
