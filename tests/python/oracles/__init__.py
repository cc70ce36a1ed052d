"""Independent answers to judge bessemer by: NumPy only, sharing no code with the product.

The folder that holds this package must be importable (``tests/python`` under pytest's default
import mode, which has no ``__init__.py`` of its own).

* ``dequant``      GGUF block formats to float32
* ``gguf_file``    reader of GGUF files
* ``llm_forward``  forward pass and greedy text of the test models
* ``ops``          the table: op name, NumPy function, inputs, tolerance
* ``elementwise``, ``structured``, ``attention``  the functions of that table
"""
