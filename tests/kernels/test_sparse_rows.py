import numpy as np
from scipy import sparse

from raterlens.kernels.library import SparseRows


def test_rows_are_those_of_the_matrix_in_the_types_of_the_kernels():
    matrix = sparse.csr_array(np.array([[0, 2, 0], [0, 0, 0], [1, 0, 3]], dtype=np.int8))
    rows = SparseRows.of(matrix)
    assert rows.indptr.tolist() == [0, 1, 1, 3]
    assert rows.indices.tolist() == [1, 0, 2]
    assert rows.data.tolist() == [2.0, 1.0, 3.0]
    assert [part.dtype for part in (rows.indptr, rows.indices, rows.data)] == [np.int64, np.int32, np.float64]
