"""Factor families and the weights of their features; `bbparse.factors` is the public interface."""
