"""What is kept on disk: archives of arrays, and files that are there whole or not at all."""
