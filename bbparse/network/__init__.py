"""Words in their context: vectors by convolution, and how they are learned."""
