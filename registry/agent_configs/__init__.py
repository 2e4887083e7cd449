"""Agent configurations: what teams publish, and the one configuration that each data plane gets.

documents      read and check what is published
claims         decide which team has which name
bundles        compute one data plane's configuration from all documents
storage        load documents, parts and inputs from the database
publishing     publish, recompute, quarantine, preview, transfer ownership
delivery       serve bundles to data planes, and take their acknowledgements
sources        follow documents in a folder, or in ConfigMaps of a cluster
reachability   probe the endpoints of published agents
reconcile.py   one periodic pass over all of it
serialization.py   contents, bundles and conditions as JSON, and back

`documents`, `claims` and `bundles` know no database, no clock, no HTTP and no Kubernetes: `bundles.compute`
is all of them in one call.
"""
