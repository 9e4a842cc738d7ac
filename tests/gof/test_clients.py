"""The list of a variable's clients."""

import copy
import pickle
import random

import pytest

from theano.gof.clients import ClientList


@pytest.mark.parametrize("n", [3, 63, 64, 65, 500])
def test_removing_in_any_order(n):
    clients = ClientList()
    for i in range(n):
        clients.append(("node", i))
    left = {("node", i) for i in range(n)}
    order = sorted(left)
    random.Random(0).shuffle(order)
    for client in order:
        clients.remove(client)
        left.discard(client)
        assert len(clients) == len(left) and set(clients) == left


def test_short_lists_keep_their_order():
    clients = ClientList([("a", 0), ("b", 0), ("c", 0)])
    clients.remove(("a", 0))
    assert clients == [("b", 0), ("c", 0)]


def test_what_is_not_there_cannot_be_removed():
    for n in (2, 200):
        clients = ClientList([("node", i) for i in range(n)])
        with pytest.raises(ValueError):
            clients.remove(("node", n))
        assert len(clients) == n


def test_changes_by_other_means_are_noticed():
    clients = ClientList([("node", i) for i in range(100)])
    clients.remove(("node", 5))
    clients.reverse()
    clients.insert(0, ("first", 0))
    del clients[3]
    expected = set(clients) - {("node", 50)}
    clients.remove(("node", 50))
    assert set(clients) == expected
    clients.append(("last", 0))
    clients.remove(("last", 0))
    assert set(clients) == expected
    clients.pop()
    clients.append(("another", 0))
    clients.remove(("another", 0))
    assert set(clients) < expected and len(clients) == len(expected) - 1


def test_repeated_clients():
    clients = ClientList([("node", 0)] * 100)
    clients.remove(("node", 0))
    assert len(clients) == 99


def test_copies():
    clients = ClientList([("node", i) for i in range(100)])
    clients.remove(("node", 1))
    for other in (pickle.loads(pickle.dumps(clients)), copy.deepcopy(clients), copy.copy(clients)):
        assert type(other) is ClientList and other == clients
        other.remove(("node", 2))
        assert ("node", 2) in clients
