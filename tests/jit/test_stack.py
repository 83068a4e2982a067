import pytest

from bbparse.jit.stack import with_room

resource = pytest.importorskip("resource")


def leaf(a):
    return a


def at_depth(depth):
    """Call a function again and again, so many calls deep."""
    if depth:
        return at_depth(depth - 1)
    for i in range(300):
        leaf(i)
    return 0


def pages_touched(depth):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    at_depth(depth)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def over_depths():
    """The most pages that calls at one depth touched, of depths that fill more than a piece."""
    for depth in range(400):  # all pages of the heap that this needs
        pages_touched(depth)
    return max(pages_touched(depth) for depth in range(400))


def test_with_room_no_depth_asks_for_memory_at_each_call():
    assert with_room(over_depths)() < 100


def test_a_function_with_room_is_called_as_it_was():
    @with_room
    def f(a, *rest, b=2):
        """What it does."""
        return a, rest, b

    assert f(1, 3, b=4) == (1, (3,), 4)
    assert f.__name__ == "f" and f.__doc__ == "What it does."
