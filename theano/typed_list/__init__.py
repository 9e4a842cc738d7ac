"""Lists in graphs: all elements of a list have the same type."""

from theano.typed_list import opt
from theano.typed_list.basic import *
from theano.typed_list.type import TypedListType
