"""Lists in graphs: all elements of a list have the same type."""

from theano import aliases
from theano import tensor as T
from theano.typed_list import opt
from theano.typed_list.basic import *
from theano.typed_list.type import TypedListType

__getattr__, __dir__ = aliases.lazy(__name__)
