"""Files: archives of arrays, files that ship with the package, and output written atomically."""
