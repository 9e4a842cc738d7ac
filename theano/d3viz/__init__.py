"""Interactive pages of graphs, for a web browser.

>>> import theano, theano.tensor as T, theano.d3viz as d3v
>>> x = T.dmatrix('x')
>>> f = theano.function([x], T.exp(x).sum())
>>> d3v.d3viz(f, 'graph.html')                                              # doctest: +SKIP
"""

from theano.d3viz import formatting, model
from theano.d3viz.d3viz import d3viz, d3write
