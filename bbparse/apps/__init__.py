"""Programs for users: command line, service, annotation, corpora, explanations, tuning."""
