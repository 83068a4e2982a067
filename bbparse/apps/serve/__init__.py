"""Parsing as a service over HTTP: ``bbparse serve``.

This process loads the models, speaks HTTP by uvicorn (`http`), and hands each request to one of the
processes that it has forked (`pool`), which parse (`work`).
"""
