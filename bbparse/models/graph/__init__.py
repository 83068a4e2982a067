"""Enhanced graphs from trees: paths of the tree, classifiers of their ends, recipes of labels."""
