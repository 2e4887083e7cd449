"""Agent configurations as stored: what teams publish, what data planes are given, and what they say of it.

The decisions are those of `registry.agent_configs`, which is pure; here is what they are made of.

rows           tables
stored         contents, bundles and conditions as JSON, and back
policies       what the settings say
documents      what is published, loaded once
parts          what each team has in force in a data plane, and what waits
quotas         how much, and how often, one team may publish
worlds         rows -> World: everything that a recompute depends on
staging        data planes that are given changes before others
signing        signatures of what is served
bundle_waiting waiting for the next bundle
publishing     put, delete and quarantine documents
recomputing    the next bundle of each data plane, under one lock
statuses       how each document stands in each data plane
planes         register data planes, approve what is held, what they are served
acks           what data planes say of a bundle; the search for the document to blame
handing_over   teams, grants, releases, transfers
previews       what would happen
admission      the same for Kubernetes' webhook
following      sources that are read again and again: the last good stays
folder         documents from a mounted folder
"""
