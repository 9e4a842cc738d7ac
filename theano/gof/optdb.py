"""Databases of optimizers, from which a `Query` selects by name and tag."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any, TextIO

from theano.configdefaults import config
from theano.gof import extensions, opt
from theano.misc.ordered_set import OrderedSet


class DB:
    """A collection of optimizers and databases, each with a name and any number of tags.

    The name counts as a tag; so do the name of the database and the name of the object's class.

    See Also
    --------
    theano.gof.EquilibriumDB : Local (and global) optimizers, queried to an `EquilibriumOptimizer`.
    theano.gof.SequenceDB : Optimizers with positions, queried to a `SeqOptimizer`.
    theano.gof.LocalGroupDB : Local optimizers, queried to a `LocalOptGroup`, in the order of their positions.

    Examples
    --------
    >>> import theano.tensor as T
    >>> db = DB()
    >>> db.register("log_of_exp", opt.PatternSub((T.log, (T.exp, "a")), "a"), "specialize", "safe")
    >>> db.register("sin_to_cos", opt.OpSub(T.sin, T.cos), "specialize")
    >>> print(*db.query("+specialize", "-safe"))
    Elemwise{sin,no_inplace} -> Elemwise{cos,no_inplace}
    >>> print(db["log_of_exp"])
    Elemwise{log,no_inplace}(Elemwise{exp,no_inplace}(a)) -> a
    """

    #: Counts the registrations in all databases, so that results of queries can be kept.
    changes = 0

    @staticmethod
    def _has_changed() -> None:
        DB.changes += 1
        extensions.note()

    def __init__(self) -> None:
        # Tag or name -> the objects that have it, in the order of registration.
        self.__db__: dict[str, OrderedSet] = {}
        self._names: set[str] = set()
        self.name: str | None = None

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def register(self, name: str, obj: Any, *tags: str, **kwargs: Any) -> None:
        """Add an optimizer or a database.

        Parameters
        ----------
        name : str
            Neither the name nor a tag of something that is there already.
        obj : Optimizer, LocalOptimizer or DB
        *tags : str
        use_db_name_as_tag : bool
            Whether the name of this database is a tag of `obj`, default True.

        Raises
        ------
        TypeError
            When `obj` is none of the above.
        ValueError
            When `name` is a tag or name, or a tag is a name, of another object.
        """
        use_db_name_as_tag = kwargs.pop("use_db_name_as_tag", True)
        if kwargs:
            raise TypeError(f"register() got unexpected keyword arguments {sorted(kwargs)}")
        if not isinstance(obj, (DB, opt.Optimizer, opt.LocalOptimizer)):
            raise TypeError("Object cannot be registered in OptDB", obj)
        if name in self.__db__:
            raise ValueError(
                "The name of the object cannot be an existing tag or the name of another existing object.", obj, name
            )
        if use_db_name_as_tag and self.name is not None:
            tags = (*tags, self.name)
        # All checks before the first change: what is refused leaves no trace.
        for tag in tags:
            if tag != name and tag in self._names:
                raise ValueError("The tag of the object collides with a name.", obj, tag)
        obj.name = name
        self.__db__[name] = OrderedSet([obj])
        self._names.add(name)
        class_name = getattr(obj, "class_tag", obj.__class__.__name__)
        DB._has_changed()
        if class_name not in self._names:
            self._tag(obj, class_name)
        for tag in tags:
            if tag != name:
                self._tag(obj, tag)

    def _tag(self, obj: Any, tag: str) -> None:
        having = self.__db__.get(tag)
        if having is None:
            having = self.__db__[tag] = OrderedSet()
        having.add(obj)

    def add_tags(self, name: str, *tags: str) -> None:
        """Give the object registered as `name` more tags."""
        DB._has_changed()
        obj = self[name]
        for tag in tags:
            if tag == name:
                continue
            if tag in self._names:
                raise ValueError("The tag of the object collides with a name.", obj, tag)
            self._tag(obj, tag)

    def remove_tags(self, name: str, *tags: str) -> None:
        """Take tags from the object registered as `name`."""
        DB._has_changed()
        obj = self[name]
        for tag in tags:
            if tag in self._names:
                raise ValueError("The tag of the object collides with a name.", obj, tag)
            if tag in self.__db__ and obj in self.__db__[tag]:
                self.__db__[tag].discard(obj)

    def __query__(self, q: Query) -> OrderedSet:
        """Return the objects that `q` selects, databases already replaced by what they give."""
        chosen: dict[Any, None] = {}
        for tag in q.include:
            chosen.update(dict.fromkeys(self.__db__.get(tag, ())))
        for tag in q.require:
            having = set(self.__db__.get(tag, ()))
            chosen = {obj: None for obj in chosen if obj in having}
        for tag in q.exclude:
            for obj in self.__db__.get(tag, ()):
                chosen.pop(obj, None)
        result = OrderedSet()
        for obj in chosen:
            if isinstance(obj, DB):
                # Extra optimizations have their place in the sequence, not in every part of it.
                sub = q.subquery.get(obj.name, q._derived(extra_optimizations=[]))
                if sub:
                    replacement = obj.query(sub)
                    replacement.name = obj.name
                    result.add(replacement)
            else:
                result.add(obj)
        return result

    def query(self, *tags: Any, **kwtags: Any) -> Any:
        """Build what the query selects.

        Parameters
        ----------
        *tags : Query, or str
            Strings are tags preceded by '+' (include), '&' (require) or '-' (exclude).
        **kwtags : Query
            Queries for the sub-databases of these names.

        Returns
        -------
        object
            Depends on the database: an `Optimizer`, a `LocalOptimizer` or a set of them.

        Raises
        ------
        TypeError
            When a `Query` is given together with something else.
        """
        return self.__query__(parse_query(tags, kwtags))

    def __getitem__(self, name: str) -> Any:
        try:
            found = self.__db__[name]
        except KeyError:
            raise KeyError(f"Nothing registered for '{name}'") from None
        if len(found) > 1:
            raise ValueError(f"More than one match for {name} (please use query)")
        for obj in found:
            return obj
        raise KeyError(f"Nothing registered for '{name}'")

    def __contains__(self, name: str) -> bool:
        return name in self.__db__

    def print_summary(self, stream: TextIO | None = None) -> None:
        """Write the names and tags in this database."""
        print(f"{self.__class__.__name__} (id {id(self)})", file=stream)
        print("  names", sorted(self._names), file=stream)
        print("  db", {tag: [str(obj.name) for obj in objs] for tag, objs in self.__db__.items()}, file=stream)


def _place(position: float | str, taken: dict[str, float]) -> float:
    """The position that is meant: a number, or 'last' for one after all that are `taken`."""
    if position == "last":
        return max(taken.values(), default=-1.0) + 1
    if isinstance(position, str):
        raise TypeError(f"the position must be a number or 'last', not {position!r}")
    return float(position)


def parse_query(tags: tuple, kwtags: dict) -> Query:
    """Make a `Query` of the arguments of `DB.query`.

    Parameters
    ----------
    tags : tuple
        Its positional arguments: one Query, or tags that start with +, & or -.
    kwtags : dict
        Its keywords: queries for databases within.

    Raises
    ------
    TypeError
        There is something beside a Query.
    ValueError
        A tag does not start so.

    See Also
    --------
    theano.gof.Query : What to take out of a database.

    Examples
    --------
    >>> query = parse_query(("+fast_run", "-inplace"), {})
    >>> list(query.include), list(query.exclude)
    (['fast_run'], ['inplace'])
    """
    if tags and isinstance(tags[0], Query):
        if len(tags) > 1 or kwtags:
            raise TypeError(
                "If the first argument to query is a Query, there should be no other arguments.", tags, kwtags
            )
        return tags[0]
    sorted_tags: dict[str, list[str]] = {"+": [], "&": [], "-": []}
    for tag in tags:
        if not isinstance(tag, str) or tag[:1] not in sorted_tags:
            raise ValueError(f"Query tags must be strings that start with '+', '&' or '-', not {tag!r}")
        sorted_tags[tag[0]].append(tag[1:])
    return Query(
        include=OrderedSet(sorted_tags["+"]),
        require=OrderedSet(sorted_tags["&"]),
        exclude=OrderedSet(sorted_tags["-"]),
        subquery=kwtags,
    )


class Query:
    """What to take out of a database.

    Parameters
    ----------
    include : iterable of str
        Objects with one of these tags are taken.
    require : iterable of str, optional
        Of them only those with all of these tags.
    exclude : iterable of str, optional
        Of them only those with none of these.
    subquery : dict, optional
        Maps names of sub-databases to the query they get instead of this one.
    position_cutoff : float, optional
        Leave out of a `SequenceDB` what has a position at or above it; default
        `config.optdb.position_cutoff`.
    extra_optimizations : list, optional
        Pairs (optimizer, position) added to a `SequenceDB`'s.

    Raises
    ------
    TypeError
        When a text is given in place of a collection of tags.

    See Also
    --------
    theano.gof.DB : A collection of optimizers and databases, each with a name and any number of tags.
    theano.gof.ProxyDB : Another database under a second name, so that it can be registered several times.
    theano.gof.optdb.parse_query : Make a `Query` of the arguments of `DB.query`.

    Examples
    --------
    >>> from theano.gof import Query
    >>> from theano.compile import optdb
    >>> plain = optdb.query(Query(include=['fast_run'], exclude=['inplace', 'fusion']))
    >>> 'elemwise_fusion' in [part.name for part in plain]
    False
    """

    def __init__(
        self,
        include: Iterable[str],
        require: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        subquery: dict[str, Query] | None = None,
        position_cutoff: float | None = None,
        extra_optimizations: Iterable[Any] | None = None,
    ):
        for tags in (include, require, exclude):
            if isinstance(tags, str):
                # Its letters would be taken for tags, and nothing found.
                raise TypeError(f"a Query takes lists or sets of tags, not the text {tags!r}")
        self.include = OrderedSet(include)
        self.require = OrderedSet(require or ())
        self.exclude = OrderedSet(exclude or ())
        self.subquery: dict[str, Query] = subquery or {}
        self.position_cutoff: float = (
            float(config.optdb.position_cutoff) if position_cutoff is None else position_cutoff
        )
        self.extra_optimizations: list[Any] = list(extra_optimizations or ())
        self.name: str | None = None

    def __str__(self) -> str:
        return (
            f"Query{{inc={list(self.include)},ex={list(self.exclude)},require={list(self.require)},"
            f"subquery={self.subquery},position_cutoff={self.position_cutoff:f},"
            f"extra_opts={self.extra_optimizations}}}"
        )

    def __repr__(self) -> str:
        return str(self)

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self.__dict__.setdefault("extra_optimizations", [])
        self.__dict__.setdefault("name", None)

    def _derived(self, **changes: Any) -> Query:
        new = copy.copy(self)
        new.name = None
        new.__dict__.update(changes)
        return new

    def including(self, *tags: str) -> Query:
        """Return this query with `tags` included too."""
        return self._derived(include=OrderedSet([*self.include, *tags]))

    def excluding(self, *tags: str) -> Query:
        """Return this query with `tags` excluded too."""
        return self._derived(exclude=OrderedSet([*self.exclude, *tags]))

    def requiring(self, *tags: str) -> Query:
        """Return this query with `tags` required too."""
        return self._derived(require=OrderedSet([*self.require, *tags]))

    def register(self, *optimizations: Any) -> Query:
        """Return this query with more pairs (optimizer, position)."""
        return self._derived(extra_optimizations=[*self.extra_optimizations, *optimizations])


class EquilibriumDB(DB):
    """Local (and global) optimizers, queried to an `EquilibriumOptimizer`.

    Parameters
    ----------
    ignore_newtrees, tracks_on_change_inputs : bool
        For the `EquilibriumOptimizer`.

    See Also
    --------
    theano.gof.SequenceDB : Optimizers with positions, queried to a `SeqOptimizer`.
    theano.gof.DB : A collection of optimizers and databases, each with a name and any number of tags.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> db = EquilibriumDB()
    >>> db.register("root_of_square", opt.PatternSub((T.sqrt, (T.sqr, "a")), (T.abs_, "a")), "fast")
    >>> db.register("twice_abs", opt.PatternSub((T.abs_, (T.abs_, "a")), (T.abs_, "a")), "fast")
    >>> x = T.vector("x")
    >>> fgraph = theano.gof.FunctionGraph([x], [abs(T.sqrt(T.sqr(x)))])
    >>> _ = db.query("+fast").optimize(fgraph)
    >>> print(fgraph)
    [Elemwise{abs_,no_inplace}(x)]
    """

    def __init__(self, ignore_newtrees: bool = True, tracks_on_change_inputs: bool = False):
        super().__init__()
        self.ignore_newtrees = ignore_newtrees
        self.tracks_on_change_inputs = tracks_on_change_inputs
        self.__final__: dict[str, bool] = {}
        self.__cleanup__: dict[str, bool] = {}

    def register(self, name: str, obj: Any, *tags: str, **kwtags: Any) -> None:
        """Add an optimizer; see `DB.register`.

        Parameters
        ----------
        final_opt : bool
            Apply it at the end of each pass only (global optimizers).
        cleanup : bool
            Apply it after global optimizers and at the end of each pass (global optimizers).
        """
        final_opt = kwtags.pop("final_opt", False)
        cleanup = kwtags.pop("cleanup", False)
        if final_opt and cleanup:
            raise ValueError(f"an optimizer is either final or for cleanup, not both: {name!r}")
        super().register(name, obj, *tags, **kwtags)
        self.__final__[name] = final_opt
        self.__cleanup__[name] = cleanup

    def query(self, *tags: Any, **kwtags: Any) -> Any:
        q = parse_query(tags, kwtags)
        selected = self.__query__(q)
        final = [obj for obj in selected if self.__final__.get(obj.name, False)]
        cleanup = [obj for obj in selected if self.__cleanup__.get(obj.name, False)]
        special = set(final) | set(cleanup)
        return opt.EquilibriumOptimizer(
            [obj for obj in selected if obj not in special],
            max_use_ratio=config.optdb.max_use_ratio,
            ignore_newtrees=self.ignore_newtrees,
            tracks_on_change_inputs=self.tracks_on_change_inputs,
            failure_callback=opt.NavigatorOptimizer.warn_inplace,
            final_optimizers=final,
            cleanup_optimizers=cleanup,
        )


class SequenceDB(DB):
    """Optimizers with positions, queried to a `SeqOptimizer`.

    Parameters
    ----------
    failure_callback : callable
        For the `SeqOptimizer`.

    See Also
    --------
    theano.gof.LocalGroupDB : Local optimizers, queried to a `LocalOptGroup`, in the order of their positions.
    theano.gof.EquilibriumDB : Local (and global) optimizers, queried to an `EquilibriumOptimizer`.

    Examples
    --------
    >>> db = SequenceDB()
    >>> db.register("last", opt.MergeOptimizer(), 10, "fast")
    >>> db.register("first", opt.MergeOptimizer(), 0.5, "fast")
    >>> [rewrite.name for rewrite in db.query("+fast")]
    ['first', 'last']
    >>> [rewrite.name for rewrite in db.query("+fast", position_cutoff=1)]
    ['first']
    """

    seq_opt = opt.SeqOptimizer

    def __init__(self, failure_callback: Callable = opt.SeqOptimizer.warn):
        super().__init__()
        self.__position__: dict[str, float] = {}
        self.failure_callback = failure_callback

    def register(  # type: ignore[override]
        self, name: str, obj: Any, position: float | str, *tags: str, **kwargs: Any
    ) -> None:
        """Add an optimizer at a position; see `DB.register`.

        Parameters
        ----------
        position : float or 'last'
            Where it runs: in ascending order, equal positions by name.
        """
        place = _place(position, self.__position__)
        super().register(name, obj, *tags, **kwargs)
        self.__position__[name] = place

    def _ordered(self, q: Query, cutoff: float) -> list[Any]:
        placed = [(self.__position__[obj.name], obj.name, obj) for obj in self.__query__(q)]
        for obj, place in q.extra_optimizations:
            if isinstance(obj, DB):
                replacement = obj.query(q.subquery.get(obj.name or "", q))
                replacement.name = obj.name
                obj = replacement
            obj.name = obj.name or str(obj)
            placed.append((place, obj.name, obj))
        kept = [entry for entry in placed if entry[0] < cutoff]
        kept.sort(key=lambda entry: entry[:2])
        return [obj for _, _, obj in kept]

    def query(self, *tags: Any, **kwtags: Any) -> Any:
        cutoff = kwtags.pop("position_cutoff", None)
        q = parse_query(tags, kwtags)
        if cutoff is None:
            cutoff = q.position_cutoff if tags and isinstance(tags[0], Query) else config.optdb.position_cutoff
        result = self.seq_opt(self._ordered(q, cutoff), failure_callback=self.failure_callback)
        result.name = q.name
        return result

    def print_summary(self, stream: TextIO | None = None) -> None:
        print(f"{self.__class__.__name__} (id {id(self)})", file=stream)
        positions = sorted(self.__position__.items(), key=lambda item: (item[1], item[0]))
        print("  position", positions, file=stream)
        print("  names", sorted(self._names), file=stream)
        print("  db", {tag: [str(obj.name) for obj in objs] for tag, objs in self.__db__.items()}, file=stream)

    def __str__(self) -> str:
        from io import StringIO

        stream = StringIO()
        self.print_summary(stream)
        return stream.getvalue()


class LocalGroupDB(DB):
    """Local optimizers, queried to a `LocalOptGroup`, in the order of their positions.

    Parameters
    ----------
    apply_all_opts, profile : bool
        For the `LocalOptGroup`.
    local_opt : type
        What the query builds.

    See Also
    --------
    theano.gof.ProxyDB : Another database under a second name, so that it can be registered several times.
    theano.gof.SequenceDB : Optimizers with positions, queried to a `SeqOptimizer`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> db = LocalGroupDB()
    >>> db.register("to_cos", opt.OpSub(T.sin, T.cos), "trigonometry", position=2)
    >>> db.register("to_tan", opt.OpSub(T.sin, T.tan), "trigonometry", position=1)
    >>> db.query("+trigonometry").transform(T.sin(T.vector("x")).owner)
    [Elemwise{tan,no_inplace}.0]
    """

    def __init__(
        self, apply_all_opts: bool = False, profile: bool = False, local_opt: Callable = opt.LocalOptGroup
    ):
        super().__init__()
        self.failure_callback: Callable | None = None
        self.apply_all_opts = apply_all_opts
        self.profile = profile
        self.__position__: dict[str, float] = {}
        self.local_opt = local_opt
        self.__name__ = ""

    def register(self, name: str, obj: Any, *tags: str, **kwargs: Any) -> None:
        """Add a local optimizer; see `DB.register`.

        Parameters
        ----------
        position : float or 'last'
            Where it is tried; default 'last'.
        """
        position = kwargs.pop("position", "last")
        place = _place(position, self.__position__)
        super().register(name, obj, *tags, **kwargs)
        self.__position__[name] = place

    def query(self, *tags: Any, **kwtags: Any) -> Any:
        selected = list(self.__query__(parse_query(tags, kwtags)))
        selected.sort(key=lambda obj: (self.__position__[obj.name], obj.name))
        return self.local_opt(*selected, apply_all_opts=self.apply_all_opts, profile=self.profile)


class TopoDB(DB):
    """Queries another database and wraps the local optimizer it gives into a `TopoOptimizer`.

    Parameters
    ----------
    db : DB
        The database that is asked.
    order, ignore_newtrees, failure_callback
        For the `TopoOptimizer`.

    See Also
    --------
    theano.gof.DB : A collection of optimizers and databases, each with a name and any number of tags.
    theano.gof.TopoOptimizer : Apply a local optimizer to all nodes once, in (or against) topological order.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> local = LocalGroupDB()
    >>> local.register("to_cos", opt.OpSub(T.sin, T.cos), "trigonometry")
    >>> x = T.vector("x")
    >>> fgraph = theano.gof.FunctionGraph([x], [T.sin(T.sin(x))])
    >>> _ = TopoDB(local).query("+trigonometry").optimize(fgraph)
    >>> print(fgraph)
    [Elemwise{cos,no_inplace}(Elemwise{cos,no_inplace}(x))]
    """

    def __init__(
        self,
        db: DB,
        order: str = "in_to_out",
        ignore_newtrees: bool = False,
        failure_callback: Callable | None = None,
    ):
        super().__init__()
        self.db = db
        self.order = order
        self.ignore_newtrees = ignore_newtrees
        self.failure_callback = failure_callback

    def query(self, *tags: Any, **kwtags: Any) -> Any:
        return opt.TopoOptimizer(
            self.db.query(*tags, **kwtags),
            self.order,
            self.ignore_newtrees,
            self.failure_callback,
        )

    def print_summary(self, stream: TextIO | None = None) -> None:
        super().print_summary(stream)
        self.db.print_summary(stream)


class ProxyDB(DB):
    """Another database under a second name, so that it can be registered several times.

    Parameters
    ----------
    db : DB
        The database that is asked.

    See Also
    --------
    theano.gof.Query : What to take out of a database.
    theano.gof.LocalGroupDB : Local optimizers, queried to a `LocalOptGroup`, in the order of their positions.

    Examples
    --------
    >>> import theano.tensor as T
    >>> db = LocalGroupDB()
    >>> db.register("to_cos", opt.OpSub(T.sin, T.cos), "trigonometry")
    >>> twice = SequenceDB()
    >>> twice.register("first", TopoDB(db), 1, "trigonometry")
    >>> twice.register("again", ProxyDB(twice["first"]), 2, "trigonometry")
    >>> [pass_.name for pass_ in twice.query("+trigonometry")]
    ['first', 'again']
    """

    def __init__(self, db: DB):
        if not isinstance(db, DB):
            raise TypeError(f"a ProxyDB needs a database of optimizers, not {db!r}")
        super().__init__()
        self.db = db

    def query(self, *tags: Any, **kwtags: Any) -> Any:
        return self.db.query(*tags, **kwtags)

    def print_summary(self, stream: TextIO | None = None) -> None:
        super().print_summary(stream)
        self.db.print_summary(stream)
