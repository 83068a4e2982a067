"""Parsing as a service over HTTP: ``bbparse serve``.

Three kinds of process. The first (`service`) loads the models and forks the others, and replaces
those that die. One (`http`) speaks HTTP, queues requests (`pool`), and holds each until its answer
is complete. The rest (`work`) parse: each connects to the queue by a socket, is handed a request
at a time (`wire`), and sends the answer piece by piece. A request whose worker dies goes
to another one, which leaves out the pieces that have been received.
"""
