"""Launch scripts, read and never run: text with places, words, expansion, interpretation.

``script.read`` is the way in; the other modules are one idea each, in the order in which they build on each other:
``text``, ``words``, ``syntax``, ``patterns``, ``state``, ``expansion`` (with ``parameters`` and ``arithmetic``),
``conditions``, ``programs``, ``builtins``, ``interpretation``, ``directives``, ``script``.
"""
