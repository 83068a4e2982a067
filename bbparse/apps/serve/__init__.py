"""Parsing as a service over HTTP: ``bbparse serve``.

There are three kinds of process. The first (`service`) loads the models, forks the others, and
replaces those that die. One (`http`) speaks HTTP, queues requests (`pool`), and holds each until
its answer is complete. The others (`work`) parse: each connects to the queue by a socket, receives
one request at a time (`wire`), and sends the answer piece by piece. If a worker dies, another one
takes its request and leaves out the pieces that have been received.
"""
