"""Estimation: marginal likelihood by quadrature, its Laplace approximation, hierarchical likelihood."""
