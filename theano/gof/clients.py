"""The list of who takes a variable, which stays quick when it is long."""

from __future__ import annotations

from typing import Any

#: Shorter lists are searched; the index of a longer one pays for itself.
SHORT = 64


class ClientList(list):
    """A list of clients: pairs of a node and the number of its input, or of ``'output'`` and a number.

    `remove` takes constant time however long the list is. It keeps the order of short lists only: in the place of
    what it removes from a long one comes the last element.
    """

    # On the class, so that making a list runs no Python code.
    _places: dict[Any, int] | None = None

    def remove(self, client: Any) -> None:
        """Take a client out.

        Raises
        ------
        ValueError
            When it is not there.
        """
        n, places = len(self), self._places
        if n < SHORT:
            if places is not None:
                self._places = None
            list.remove(self, client)
            return
        if places is not None:
            # What was appended since.
            for i in range(len(places), n):
                places[self[i]] = i
        if places is None or len(places) != n or (i := places.get(client, n)) >= n or self[i] != client:
            # There is no index yet, or the list was changed by other means.
            places = self._places = {other: i for i, other in enumerate(self)}
            if client not in places or len(places) != n:
                self._places = None
                list.remove(self, client)
                return
            i = places[client]
        del places[client]
        last = list.pop(self)
        if i < n - 1:
            self[i] = last
            places[last] = i

    def __reduce__(self) -> tuple:
        return type(self), (list(self),)
