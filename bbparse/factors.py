'''Non-local factors: the interface for your own factor families.

A *factor* is a set of two or more arcs that scores if all of them are in the tree, however far
apart they are. A *factor family* proposes such sets for a sentence and names their features.
Training learns a weight for each feature, and the search stays exact. This is a complete family:

>>> from bbparse.factors import FactorFamily
>>> class Brackets(FactorFamily):
...     """An opening and a closing bracket modify the same word."""
...     name = "brackets"
...     summary = "a pair of brackets with one head"
...
...     def factors(self, view):
...         for left in (i for i, form in enumerate(view.forms) if form == "("):
...             for right in (i for i, form in enumerate(view.forms) if form == ")" and i > left):
...                 for head in view.heads_of(left):
...                     yield [(head, left), (head, right)], ["pair", ("head", view.upos[head])]

Words are numbered from 1 and 0 is the root, as in CoNLL-U. A factor with an arc that is not a
candidate is ignored, so the example need not test ``(head, right)``. Features are strings, integers
or tuples of them.

There are three ways to use a family:

* pass the class: ``Parser.train(..., factors=["siblings", Brackets])``;
* name its module and class: ``--factors siblings,my_module:Brackets``, or the same in a TOML file;
* offer it in a package, with two lines in its pyproject.toml. It is then called ``brackets``, and
  ``bbparse factors`` lists it::

      [project.entry-points."bbparse.factors"]
      brackets = "my_module:Brackets"

Try a family before training with it:

>>> from bbparse.factors import FactorView, check_family
>>> from bbparse.treebank import Sentence
>>> sentence = Sentence.from_words(
...     ["See", "(", "above", ")"], upos=["VERB", "PUNCT", "ADV", "PUNCT"], heads=[0, 3, 1, 3])
>>> view = FactorView.of_tree(sentence, [-1, *sentence.heads])
>>> list(Brackets().factors(view))
[([(3, 2), (3, 4)], ['pair', ('head', 'ADV')])]
>>> check_family(Brackets(), sentence)  # raises FactorError if it breaks the contract
1

The contract: whether a set of arcs is proposed, and with which features, depends only on the
sentence and on these arcs (`FactorFamily`). To save time, begin with a test that most sentences
fail, such as ``if "(" not in view.forms: return``, which costs a microsecond.

A family may also score *how many* arcs of a set are in the tree, with features for each number
(`FactorFamily.counts`):

>>> class Determiners(FactorFamily):
...     """One determiner for a noun, or two."""
...     name = "determiners"
...     summary = "how many determiners a word has"
...
...     def counts(self, view):
...         for h in range(1, view.n_words + 1):
...             arcs = [(h, m) for m in view.modifiers_of(h) if view.upos[m] == "DET"]
...             yield arcs, [[("one", view.upos[h])], [("more", view.upos[h])]]

Families with many factors, such as all pairs of siblings, are written as a `TemplateFamily`: it
names the arcs of a factor, and a table of templates gives the features. The package
``bbparse_families`` has the families of Qian & Liu 2013 §4.3 in both styles.
'''

from bbparse.models.factors.batch import FactorBatch
from bbparse.models.factors.family import Arc, FactorFamily, check_family
from bbparse.models.factors.table import Feature
from bbparse.models.factors.templates import TemplateFamily
from bbparse.models.factors.tree_family import TreeFamily
from bbparse.models.factors.view import FactorView

__all__ = [
    "Arc",
    "FactorBatch",
    "FactorFamily",
    "FactorView",
    "Feature",
    "TemplateFamily",
    "TreeFamily",
    "check_family",
]
