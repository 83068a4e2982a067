"""What Prometheus can ask."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """Counters of one service."""

    def __init__(self) -> None:
        r = self.registry = CollectorRegistry()
        PlatformCollector(registry=r)
        ProcessCollector(registry=r)
        self.requests = Counter(
            "bbparse_requests", "Requests answered.", ["path", "status"], registry=r
        )
        self.seconds = Histogram(
            "bbparse_request_seconds", "From a request to the end of its answer.",
            ["path"], registry=r, buckets=_SECONDS,
        )  # fmt: skip
        self.sentences = Counter("bbparse_sentences", "Sentences parsed.", registry=r)
        self.words = Counter("bbparse_words", "Words parsed.", registry=r)
        self.deaths = Counter("bbparse_worker_deaths", "Workers that died at work.", registry=r)
        self.reloads = Counter("bbparse_reloads", "Times that models were loaded.", registry=r)

    def watch(self, **gauges: Callable[[], float]) -> None:
        """Tell values that others know."""
        for name, value in gauges.items():
            Gauge(f"bbparse_{name}", f"Now: {name}.", registry=self.registry).set_function(value)

    def parsed(self, sentences: int, words: int) -> None:
        """Count what a request came to."""
        self.sentences.inc(sentences)
        self.words.inc(words)

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self.registry)
